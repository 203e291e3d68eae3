/** The fields of a message. */
import type { MessageValidation } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Draft } from "../messages/draft.ts";
import { Field, SelectField, TextField } from "../ui/field.tsx";
import { Composed } from "./composed.tsx";
import { RecipientField } from "./recipient-field.tsx";
import { TemplateFields } from "./template-fields.tsx";

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
      />
      <div class="tabs" role="group" aria-label="Content">
        {(["text", "template"] as const).map((kind) => (
          <button key={kind} type="button" class="small" aria-pressed={draft.kind === kind} onClick={() => onChange({ kind })}>
            {kind === "text" ? "Text" : "Template"}
          </button>
        ))}
      </div>
      {draft.kind === "template" ? (
        <TemplateFields draft={draft} faultOf={faultOf} onChange={onChange} />
      ) : (
        <Field label="Text" error={faultOf("/body")}>
          {(control) => (
            <textarea {...control} value={draft.body} rows={5} onInput={(event) => onChange({ body: event.currentTarget.value })} />
          )}
        </Field>
      )}
      {validation !== undefined && (
        <Composed
          validation={validation}
          onReplace={draft.kind === "text" ? (replace) => onChange({ body: replace(draft.body) }) : undefined}
        />
      )}
      <AdvancedFields draft={draft} faultOf={faultOf} onChange={onChange} />
    </>
  );
}

function AdvancedFields({ draft, faultOf, onChange }: Omit<SendFormProps, "validation">): JSX.Element {
  const [isOpen, setOpen] = useState(draft.sendAt !== "" || draft.sender !== "" || draft.clientReference !== "" || draft.metadata !== "");
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
