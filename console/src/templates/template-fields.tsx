/** All form fields of a template, with the faults that the API reports. */
import type { JSX } from "preact";
import { CheckList, SelectField, TextField } from "../ui/field.tsx";
import { faultAt } from "../ui/problem.tsx";
import { ContentFields, type DraftProps } from "./content-fields.tsx";
import { toTemplateName } from "./placeholders.ts";
import { CATEGORIES, CHANNELS } from "./template-draft.ts";

/** `isNew`: only a new template has the name field, because the name cannot be changed. */
export function TemplateFields({ isNew, ...props }: DraftProps & { isNew: boolean }): JSX.Element {
  const { draft, onDraft, error } = props;
  const { name, language, category, channels } = draft;
  return (
    <>
      {isNew && (
        <TextField
          label="Name"
          placeholder="order_shipped"
          hint="Lower-case letters, digits and underscores. Messages refer to the template by its name, which cannot be changed later."
          value={name}
          onValue={(value) => onDraft({ ...draft, name: toTemplateName(value) })}
          error={faultAt(error, "/name")}
        />
      )}
      <div class="field-row">
        <TextField
          label="Language"
          placeholder="en-US"
          hint="A language tag such as en or pt-BR."
          value={language}
          onValue={(value) => onDraft({ ...draft, language: value })}
          error={faultAt(error, "/language")}
        />
        <SelectField
          label="Category"
          value={category}
          onValue={(value) => onDraft({ ...draft, category: value })}
          options={withOwn(CATEGORIES, [category]).map((option) => [option, option] as const)}
          error={faultAt(error, "/category")}
        />
      </div>
      <CheckList
        legend="Channels"
        options={withOwn(CHANNELS, channels)}
        chosen={channels}
        onChosen={(chosen) => onDraft({ ...draft, channels: withOwn(CHANNELS, channels).filter((channel) => chosen.includes(channel)) })}
        error={faultAt(error, "/channels")}
      />
      <ContentFields {...props} />
    </>
  );
}

/** The known values, and those of the template that the console does not know. */
const withOwn = (known: readonly string[], own: readonly string[]): string[] => [...new Set([...known, ...own])];
