/** The form of a bulk send: the file, the content, and the fields that its columns fill. */
import type { JSX } from "preact";
import { useResource } from "../lib/resource.ts";
import { take } from "../lib/take.ts";
import { useApi, useMay } from "../session/use-session.ts";
import { Field, SelectField, TextField } from "../ui/field.tsx";
import { Loaded } from "../ui/page.tsx";
import type { BulkDraft, KnownTemplate } from "./bulk-draft.ts";

type FormProps = { draft: BulkDraft; onChange: (change: Partial<BulkDraft>) => void };

const MAX_TEMPLATES = 1_000;

/** The approved templates. Undefined while they load, and for a key that may not read them. */
export function useTemplates(): ReturnType<typeof useResource<KnownTemplate[]>> & { mayRead: boolean } {
  const api = useApi();
  const mayRead = useMay("templates:read");
  const templates = useResource<KnownTemplate[]>(mayRead ? "approved" : null, (signal) =>
    take(api.templates.list({ status: "approved", limit: 100 }, { signal }), MAX_TEMPLATES),
  );
  return { ...templates, mayRead };
}

export const FileField = ({ error, onFile }: { error: string | undefined; onFile: (file: File | undefined) => void }): JSX.Element => (
  <Field
    label="CSV file"
    error={error}
    hint="UTF-8, with headings in the first row. The file stays on this computer; only its messages are sent."
  >
    {(control) => (
      <input {...control} type="file" accept=".csv,text/csv" onChange={({ currentTarget }) => onFile(currentTarget.files?.[0])} />
    )}
  </Field>
);

export const ContentFields = ({ draft, templates, onChange }: FormProps & { templates: ReturnType<typeof useTemplates> }): JSX.Element => (
  <>
    <SelectField
      label="Channel"
      value={draft.channel}
      onValue={(channel) => onChange({ channel: channel as BulkDraft["channel"] })}
      options={[
        ["sms", "SMS"],
        ["whatsapp", "WhatsApp"],
      ]}
    />
    <SelectField
      label="Content"
      value={draft.kind ?? ""}
      onValue={(kind) => onChange({ kind: kind as BulkDraft["kind"] })}
      options={[
        ["template", "A template with variables from columns"],
        ["text", "The same text for all rows"],
        ["column", "A column with the text of each row"],
      ]}
    />
    {draft.kind === "template" && <TemplateField draft={draft} templates={templates} onChange={onChange} />}
    {draft.kind === "text" && (
      <Field label="Text">
        {(control) => (
          <textarea {...control} rows={4} value={draft.body} onInput={({ currentTarget }) => onChange({ body: currentTarget.value })} />
        )}
      </Field>
    )}
    <AdvancedFields draft={draft} onChange={onChange} />
  </>
);

function TemplateField({ draft, templates, onChange }: FormProps & { templates: ReturnType<typeof useTemplates> }): JSX.Element {
  if (!templates.mayRead)
    return (
      <TextField
        label="Template"
        hint="The name or id. With the scope templates:read, the templates are listed here."
        value={draft.template}
        onValue={(template) => onChange({ template })}
      />
    );
  return (
    <Loaded resource={templates} lines={2}>
      {(all) => {
        const usable = all.filter(({ channels }) => channels.includes(draft.channel));
        return (
          <SelectField
            label="Template"
            value={draft.template}
            onValue={(template) => onChange({ template })}
            options={[
              ["", usable.length === 0 ? "No approved template for this channel" : "Choose…"],
              ...usable.map(({ name }): [string, string] => [name, name]),
            ]}
          />
        );
      }}
    </Loaded>
  );
}

const AdvancedFields = ({ draft, onChange }: FormProps): JSX.Element => (
  <details>
    <summary>Advanced options</summary>
    <div class="field-row">
      <TextField label="Send at" isOptional type="datetime-local" value={draft.sendAt} onValue={(sendAt) => onChange({ sendAt })} />
      <TextField label="Sender" isOptional value={draft.sender} onValue={(sender) => onChange({ sender })} />
      <TextField
        label="Send id"
        isOptional
        hint="The same file with the same settings is sent once in 24 hours. With another id it is sent again."
        value={draft.sendId}
        onValue={(sendId) => onChange({ sendId })}
      />
    </div>
    <label class="bulk-option">
      <input
        type="checkbox"
        checked={draft.allowsDuplicates}
        onChange={({ currentTarget }) => onChange({ allowsDuplicates: currentTarget.checked })}
      />{" "}
      Send to a recipient of several rows more than once
    </label>
  </details>
);

type ColumnsProps = {
  headings: readonly string[];
  targets: readonly string[];
  variables: readonly string[];
  hasText: boolean;
  onChoose: (heading: string, target: string) => void;
};

const FIELD_WORDS: readonly (readonly [target: string, label: string])[] = [
  ["ignore", "not used"],
  ["recipient", "Recipient"],
  ["client_reference", "Client reference"],
  ["sender", "Sender"],
  ["send_at", "Send at"],
];

export const ColumnFields = ({ headings, targets, variables, hasText, onChoose }: ColumnsProps): JSX.Element => (
  <fieldset class="bulk-columns">
    <legend>Columns</legend>
    <div class="field-row">
      {headings.map((heading, at) => {
        const target = targets[at] ?? "ignore";
        const options: (readonly [string, string])[] = [
          ...FIELD_WORDS,
          ...(hasText ? [["body", "Text"] as const] : []),
          ...variables.map((name) => [`var.${name}`, `{{${name}}}`] as const),
        ];
        const known = options.some(([option]) => option === target);
        return (
          heading !== "" && (
            <SelectField
              key={heading}
              label={heading}
              value={target}
              onValue={(chosen) => onChoose(heading, chosen)}
              options={known ? options : [...options, [target, target.replace(/^var\.(.*)$/, "{{$1}}")]]}
            />
          )
        );
      })}
    </div>
  </fieldset>
);
