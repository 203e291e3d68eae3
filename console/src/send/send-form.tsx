/** The fields of a message. */
import type { Content, MessageValidation } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { toShown } from "../messages/content-draft.ts";
import { toRequest, type Draft, type DraftKind } from "../messages/draft.ts";
import { Field, SelectField, TextField } from "../ui/field.tsx";
import { NextStep } from "../ui/next-step.tsx";
import { Composed } from "./composed.tsx";
import { ContentFields } from "./content-fields.tsx";
import { RecipientField } from "./recipient-field.tsx";
import { TemplateFields } from "./template-fields.tsx";

const KINDS: readonly (readonly [DraftKind, string])[] = [
  ["text", "Text"],
  ["template", "Template"],
  ["media", "File"],
  ["buttons", "Buttons"],
  ["list", "List"],
  ["location", "Location"],
  ["copied", "Copied content"],
];

type SendFormProps = {
  draft: Draft;
  validation: MessageValidation | undefined;
  /** Returns the fault of a field that the user has already changed. */
  faultOf: (pointer: string) => string | undefined;
  onChange: (change: Partial<Draft>) => void;
};

export function SendForm({ draft, validation, faultOf, onChange }: SendFormProps): JSX.Element {
  return (
    <>
      <SelectField
        label="Channel"
        value={draft.channel}
        onValue={(channel) => onChange({ channel })}
        options={[
          ["sms", "SMS"],
          ["whatsapp", "WhatsApp"],
        ]}
        error={faultOf("/channel")}
      />
      <RecipientField
        value={draft.recipient}
        error={faultOf("/recipient")}
        onValue={(recipient) => onChange({ recipient })}
        onSimulated={({ number, channel }) => onChange({ recipient: number, ...(channel === undefined ? {} : { channel }) })}
      >
        <RecipientStep draft={draft} validation={validation} />
      </RecipientField>
      <div class="tabs" role="group" aria-label="Content">
        {KINDS.filter(([kind]) => kind !== "copied" || draft.copied !== null).map(([kind, name]) => (
          <button key={kind} type="button" class="small" aria-pressed={draft.kind === kind} onClick={() => onChange({ kind })}>
            {name}
          </button>
        ))}
      </div>
      {draft.kind === "text" ? (
        <Field label="Text" error={faultOf("/body")}>
          {(control) => (
            <textarea {...control} value={draft.body} rows={5} onInput={(event) => onChange({ body: event.currentTarget.value })} />
          )}
        </Field>
      ) : draft.kind === "template" ? (
        <TemplateFields draft={draft} faultOf={faultOf} onChange={onChange} />
      ) : (
        <ContentFields kind={draft.kind} draft={draft} faultOf={faultOf} onChange={onChange} />
      )}
      {validation !== undefined && (
        <Composed
          validation={validation}
          content={contentOf(draft)}
          onReplace={draft.kind === "text" ? (replace) => onChange({ body: replace(draft.body) }) : undefined}
        />
      )}
      <AdvancedFields draft={draft} faultOf={faultOf} onChange={onChange} />
    </>
  );
}

/** The next step if the recipient is refused. */
function RecipientStep({ draft, validation }: Pick<SendFormProps, "draft" | "validation">): JSX.Element | null {
  const fault = validation?.errors.find(({ pointer }) => pointer === "/recipient");
  return fault === undefined ? null : <NextStep code={fault.code} recipient={toRequest(draft).recipient} />;
}

/** The content for the preview. Null for a text. */
function contentOf(draft: Draft): Content | null {
  const { content } = toRequest(draft);
  return content === undefined || content === null ? null : toShown(content);
}

function AdvancedFields({ draft, faultOf, onChange }: Omit<SendFormProps, "validation">): JSX.Element {
  const [isOpen, setOpen] = useState(
    draft.sendAt !== "" || draft.sender !== "" || draft.clientReference !== "" || draft.metadata !== "" || draft.replyTo !== "",
  );
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Advanced options</summary>
      <div class="field-row">
        <TextField
          label="Send at"
          isOptional
          type="datetime-local"
          value={draft.sendAt}
          onValue={(sendAt) => onChange({ sendAt })}
          error={faultOf("/send_at")}
        />
        <TextField
          label="In reply to"
          isOptional
          placeholder="msg_…"
          hint="The id of a WhatsApp message, which this one quotes."
          value={draft.replyTo}
          onValue={(replyTo) => onChange({ replyTo })}
          error={faultOf("/reply_to")}
        />
        <TextField label="Sender" isOptional value={draft.sender} onValue={(sender) => onChange({ sender })} error={faultOf("/sender")} />
        <TextField
          label="Client reference"
          isOptional
          value={draft.clientReference}
          onValue={(clientReference) => onChange({ clientReference })}
          error={faultOf("/client_reference")}
        />
        <Field label="Metadata" isOptional hint="One entry per line: name=value" error={faultOf("/metadata")}>
          {(control) => (
            <textarea
              {...control}
              class="short"
              value={draft.metadata}
              rows={2}
              onInput={(event) => onChange({ metadata: event.currentTarget.value })}
            />
          )}
        </Field>
        <SelectField
          label="Priority"
          value={draft.priority}
          onValue={(priority) => onChange({ priority })}
          options={[
            ["high", "high"],
            ["normal", "normal"],
            ["bulk", "bulk"],
          ]}
          error={faultOf("/priority")}
        />
        <TextField
          label="Time to live in seconds"
          isOptional
          type="number"
          placeholder="172800"
          value={draft.ttlSeconds}
          onValue={(ttlSeconds) => onChange({ ttlSeconds })}
          error={faultOf("/ttl_seconds")}
        />
        <TextField
          label="Maximum segments"
          isOptional
          type="number"
          value={draft.maxSegments}
          onValue={(maxSegments) => onChange({ maxSegments })}
          error={faultOf("/max_segments")}
        />
      </div>
    </details>
  );
}
