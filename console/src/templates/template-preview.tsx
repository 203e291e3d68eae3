/** A preview of the saved template, rendered by the service with the values that are typed here. */
import type { Template, TemplatePreview } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useLastDefined, useResource, type Resource } from "../lib/resource.ts";
import { useDebounced } from "../lib/timing.ts";
import { useApi } from "../session/use-session.ts";
import { TextField } from "../ui/field.tsx";
import { Loaded } from "../ui/page.tsx";
import { Segments } from "../ui/segments.tsx";
import { Bubble } from "./bubble.tsx";
import { toPlaceholder } from "./placeholders.ts";

type Values = Readonly<Record<string, string>>;

export function PreviewCard({ template }: { template: Template }): JSX.Element {
  const [chosen, setChosen] = useState<string | undefined>(undefined);
  const [typed, setTyped] = useState<Values>({});
  const channel = template.channels.find((one) => one === chosen) ?? template.channels[0] ?? "sms";
  const preview = usePreview(template, channel, useDebounced(typed, 300));
  return (
    <section class="card template-preview" aria-label="Preview">
      <div class="card-head">
        <h2>Preview</h2>
        {template.channels.length > 1 && <Channels of={template} shown={channel} onChosen={setChosen} />}
      </div>
      <div class="stack">
        <Loaded resource={preview}>{(data) => <RenderedPreview preview={data} template={template} />}</Loaded>
        <ValueFields template={template} typed={typed} onTyped={setTyped} />
      </div>
    </section>
  );
}

/** Fetches the preview. The last one stays visible until the next one is loaded. */
function usePreview(template: Template, channel: string, typed: Values): Resource<TemplatePreview> {
  const api = useApi();
  const values = previewValues(template, typed);
  const { id, version, updated_at: updatedAt } = template;
  const preview = useResource(JSON.stringify([id, version, updatedAt, channel, values]), (signal) =>
    api.templates.preview(id, { channel: channel as "sms", template_variables: values }, { signal }),
  );
  const last = useLastDefined(preview.data);
  return { ...preview, data: preview.error === undefined ? last : undefined };
}

/** Returns the typed value, or the example, or the placeholder itself. Values are inserted unchanged, so the placeholder stays visible. */
const previewValues = ({ variables }: Template, typed: Values): Record<string, string> =>
  Object.fromEntries(
    variables.map(({ name, example }) => [name, [typed[name], example].find((value) => value?.trim()) ?? toPlaceholder(name)]),
  );

type ChannelsProps = { of: Template; shown: string; onChosen: (channel: string) => void };

const Channels = ({ of: { channels }, shown, onChosen }: ChannelsProps): JSX.Element => (
  <div class="tabs" role="group" aria-label="Channel of the preview">
    {channels.map((channel) => (
      <button key={channel} type="button" class="small" aria-pressed={channel === shown} onClick={() => onChosen(channel)}>
        {channel}
      </button>
    ))}
  </div>
);

function RenderedPreview({ preview, template }: { preview: TemplatePreview; template: Template }): JSX.Element {
  const { channel, header, body, footer, segments } = preview;
  return (
    <>
      <Bubble
        header={header}
        headerMedia={channel === "sms" ? null : template.header_media}
        body={body}
        footer={footer}
        buttons={channel === "sms" ? null : template.buttons}
      />
      {segments !== null && (
        <p class="quiet">
          <Segments of={segments} />
        </p>
      )}
    </>
  );
}

type ValueProps = { template: Template; typed: Values; onTyped: (typed: Values) => void };

function ValueFields({ template: { variables }, typed, onTyped }: ValueProps): JSX.Element | null {
  if (variables.length === 0) return null;
  return (
    <fieldset class="stack">
      <legend class="field-legend">Other values</legend>
      <div class="field-row">
        {variables.map(({ name, example }) => (
          <TextField
            key={name}
            label={`Value of ${toPlaceholder(name)}`}
            placeholder={example ?? ""}
            value={typed[name] ?? ""}
            onValue={(value) => onTyped({ ...typed, [name]: value })}
          />
        ))}
      </div>
    </fieldset>
  );
}
