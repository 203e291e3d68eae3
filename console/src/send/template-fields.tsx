/** The choice of a template, and the fields of its variables. */
import type { Template } from "godwit-sdk";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { useResource } from "../lib/resource.ts";
import { take } from "../lib/take.ts";
import { partsOf, type TemplateParts } from "../messages/content-draft.ts";
import type { Draft } from "../messages/draft.ts";
import { useApi, useMay } from "../session/use-session.ts";
import { SelectField, TextField } from "../ui/field.tsx";
import { Loaded } from "../ui/page.tsx";
import { FileFields } from "./file-fields.tsx";

const MAX_TEMPLATES = 1_000;

type TemplateProps = { draft: Draft; faultOf: (pointer: string) => string | undefined; onChange: (change: Partial<Draft>) => void };

export function TemplateFields({ draft, faultOf, onChange }: TemplateProps): JSX.Element {
  const mayRead = useMay("templates:read");
  return mayRead ? (
    <TemplateChoice draft={draft} faultOf={faultOf} onChange={onChange} />
  ) : (
    <TextField
      label="Template"
      hint="The name or id. With the scope templates:read, the templates are listed here."
      value={draft.template}
      onValue={(template) => onChange({ template })}
      error={faultOf("/template_id")}
    />
  );
}

function TemplateChoice({ draft, faultOf, onChange }: TemplateProps): JSX.Element {
  const api = useApi();
  const templates = useResource("approved", (signal) =>
    take(api.templates.list({ status: "approved", limit: 100 }, { signal }), MAX_TEMPLATES),
  );
  return (
    <Loaded resource={templates} lines={2}>
      {(all) => {
        const usable = all.filter(({ channels }) => channels.includes(draft.channel));
        const chosen = usable.find(({ id, name }) => id === draft.template || name === draft.template);
        const choose = (name: string): void => {
          const template = all.find((one) => one.name === name);
          onChange({ template: name, variables: blanks(template), parts: template === undefined ? null : partsOf(template) });
        };
        // The same fields have other pointers in a content.
        const below = draft.parts === null ? "" : "/content";
        return (
          <>
            <SelectField
              label="Template"
              value={chosen?.name ?? ""}
              onValue={choose}
              options={[
                ["", usable.length === 0 ? "No approved template for this channel" : "Choose…"],
                ...usable.map(({ name }): [string, string] => [name, name]),
              ]}
              error={faultOf(`${below}/template_id`)}
            />
            {chosen !== undefined && draft.parts === null && <Parts of={chosen} onParts={(parts) => onChange({ parts })} />}
            {chosen?.variables.map(({ name, example }) => (
              <TextField
                key={name}
                label={`{{${name}}}`}
                placeholder={example ?? ""}
                value={draft.variables[name] ?? ""}
                onValue={(value) => onChange({ variables: { ...draft.variables, [name]: value } })}
                error={faultOf(`${below}/template_variables/${name}`)}
              />
            ))}
            {draft.parts !== null && <PartFields parts={draft.parts} faultOf={faultOf} onParts={(parts) => onChange({ parts })} />}
          </>
        );
      }}
    </Loaded>
  );
}

/** Gives the draft the fields of a template that was chosen before its record was known. */
function Parts({ of, onParts }: { of: Template; onParts: (parts: TemplateParts) => void }): null {
  useEffect(() => {
    const parts = partsOf(of);
    if (parts !== null) onParts(parts);
  }, [of, onParts]);
  return null;
}

type PartsProps = { parts: TemplateParts; faultOf: (pointer: string) => string | undefined; onParts: (parts: TemplateParts) => void };

function PartFields({ parts, faultOf, onParts }: PartsProps): JSX.Element {
  const { header, buttons } = parts;
  return (
    <>
      {header !== null && (
        <FileFields
          file={header}
          isKindFixed
          pointer="/content/header"
          faultOf={faultOf}
          onFile={(file) => onParts({ ...parts, header: { ...file, kind: header.kind } })}
        />
      )}
      {buttons.map(({ index, label, field, value }, at) => (
        <TextField
          key={index}
          label={field === "payload" ? `Payload of ${label}` : `End of the URL of ${label}`}
          value={value}
          onValue={(text) => onParts({ ...parts, buttons: buttons.map((each, place) => (place === at ? { ...each, value: text } : each)) })}
          error={faultOf(`/content/buttons/${at}/${field}`) ?? faultOf(`/content/buttons/${at}`)}
        />
      ))}
    </>
  );
}

const blanks = (template: Template | undefined): Record<string, string> =>
  Object.fromEntries((template?.variables ?? []).map(({ name }): [string, string] => [name, ""]));
