/** The choice of a template, and the fields of its variables. */
import type { Template } from "godwit-sdk";
import type { JSX } from "preact";
import { useResource } from "../lib/resource.ts";
import { take } from "../lib/take.ts";
import type { Draft } from "../messages/draft.ts";
import { useApi, useMay } from "../session/use-session.ts";
import { SelectField, TextField } from "../ui/field.tsx";
import { Loaded } from "../ui/page.tsx";

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
        const choose = (name: string): void =>
          onChange({ template: name, variables: blanks(all.find((template) => template.name === name)) });
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
              error={faultOf("/template_id")}
            />
            {chosen?.variables.map(({ name, example }) => (
              <TextField
                key={name}
                label={`{{${name}}}`}
                placeholder={example ?? ""}
                value={draft.variables[name] ?? ""}
                onValue={(value) => onChange({ variables: { ...draft.variables, [name]: value } })}
                error={faultOf(`/template_variables/${name}`)}
              />
            ))}
          </>
        );
      }}
    </Loaded>
  );
}

const blanks = (template: Template | undefined): Record<string, string> =>
  Object.fromEntries((template?.variables ?? []).map(({ name }): [string, string] => [name, ""]));
