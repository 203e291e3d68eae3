/** The fields of a template's content: its texts, and an example for each variable in them. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { formatCount } from "../lib/format.ts";
import { useDebounced } from "../lib/timing.ts";
import { kindLabel } from "../ui/content-summary.ts";
import { Field, SelectField, TextField } from "../ui/field.tsx";
import { faultAt } from "../ui/problem.tsx";
import { ButtonFields } from "./button-fields.tsx";
import { nextVariable, oddBraces, toPlaceholder } from "./placeholders.ts";
import { draftVariables, HEADER_MEDIA, isOnWhatsapp, type Draft } from "./template-draft.ts";

export type DraftProps = { draft: Draft; onDraft: (draft: Draft) => void; error: unknown };

// Braces are unbalanced while they are typed. The fault is shown after a pause.
const TYPING_MS = 700;

export function ContentFields(props: DraftProps): JSX.Element {
  const { draft, onDraft, error } = props;
  const isForWhatsapp = isOnWhatsapp(draft);
  return (
    <>
      {isForWhatsapp && <HeaderFields {...props} />}
      <Body {...props} />
      {isForWhatsapp && (
        <>
          <TextField
            label="Footer"
            isOptional
            hint="Shown only on WhatsApp. Without variables."
            value={draft.footer}
            onValue={(footer) => onDraft({ ...draft, footer })}
            error={faultAt(error, "/footer")}
          />
          <ButtonFields buttons={draft.buttons} onButtons={(buttons) => onDraft({ ...draft, buttons })} error={error} />
        </>
      )}
      <Examples {...props} />
    </>
  );
}

function HeaderFields({ draft, onDraft, error }: DraftProps): JSX.Element {
  const { header, headerMedia } = draft;
  const kinds = HEADER_MEDIA.includes(headerMedia) || headerMedia === "" ? HEADER_MEDIA : [...HEADER_MEDIA, headerMedia];
  return (
    <div class="field-row">
      <SelectField
        label="File above the text"
        isOptional
        hint="Shown only on WhatsApp. Each message gives its file."
        value={headerMedia}
        onValue={(kind) => onDraft({ ...draft, headerMedia: kind })}
        options={[["", "none"], ...kinds.map((kind): [string, string] => [kind, kindLabel(kind)])]}
        error={faultAt(error, "/header_media")}
      />
      {headerMedia === "" && (
        <TextField
          label="Header"
          isOptional
          hint="Shown only on WhatsApp. One variable at most."
          value={header}
          onValue={(text) => onDraft({ ...draft, header: text })}
          error={faultAt(error, "/header")}
        />
      )}
    </div>
  );
}

function Body({ draft, onDraft, error }: DraftProps): JSX.Element {
  const odd = useDebounced(oddBraces(draft.body), TYPING_MS);
  const most = isOnWhatsapp(draft) ? 1_024 : 1_600;
  const braces =
    odd === undefined ? undefined : `${odd} is not a variable: write {{1}} or {{name}}, in lower-case letters and without spaces.`;
  const hint = (
    <>
      {formatCount(Array.from(draft.body).length)} of {formatCount(most)} characters. Write a variable as <code>{"{{name}}"}</code>.
    </>
  );
  const textarea = useRef<HTMLTextAreaElement>(null);
  const insertVariable = (): void => {
    const { current } = textarea;
    if (current === null) return;
    const name = nextVariable(draftVariables(draft));
    current.focus();
    current.setRangeText(toPlaceholder(name), current.selectionStart, current.selectionEnd, "end");
    onDraft({ ...draft, body: current.value });
    // The user types the real name over the selected one.
    const end = current.selectionEnd - "}}".length;
    current.setSelectionRange(end - name.length, end);
  };
  return (
    <>
      <Field label="Body" hint={hint} error={faultAt(error, "/body") ?? braces}>
        {(control) => (
          <textarea
            {...control}
            ref={textarea}
            rows={6}
            value={draft.body}
            onInput={(event) => onDraft({ ...draft, body: event.currentTarget.value })}
          />
        )}
      </Field>
      <div>
        <button type="button" class="small" onClick={insertVariable}>
          Insert a variable
        </button>
      </div>
    </>
  );
}

function Examples({ draft, onDraft, error }: DraftProps): JSX.Element | null {
  const variables = draftVariables(draft);
  if (variables.length === 0) return null;
  return (
    <fieldset class="stack">
      <legend class="field-legend">Examples</legend>
      <p class="hint">An example value for each variable, for the preview and for the review of the template.</p>
      <div class="field-row">
        {variables.map((name) => (
          <TextField
            key={name}
            label={`Example for ${toPlaceholder(name)}`}
            value={draft.examples[name] ?? ""}
            onValue={(example) => onDraft({ ...draft, examples: { ...draft.examples, [name]: example } })}
            error={faultAt(error, `/examples/${name}`)}
          />
        ))}
      </div>
    </fieldset>
  );
}
