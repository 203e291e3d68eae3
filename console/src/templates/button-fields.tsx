/** The fields of the buttons of a WhatsApp template: text, and URL or phone number. */
import type { JSX } from "preact";
import { words } from "../lib/format.ts";
import { SelectField, TextField } from "../ui/field.tsx";
import { faultAt } from "../ui/problem.tsx";
import { BUTTON_TYPES, URL_VARIABLE, type ButtonDraft } from "./template-draft.ts";

const MAX_BUTTONS = 10;

type ButtonsProps = { buttons: readonly ButtonDraft[]; onButtons: (buttons: readonly ButtonDraft[]) => void; error: unknown };

export function ButtonFields({ buttons, onButtons, error }: ButtonsProps): JSX.Element {
  const add = (): void =>
    onButtons([...buttons, { key: Math.max(-1, ...buttons.map(({ key }) => key)) + 1, type: "quick_reply", text: "", target: "" }]);
  const fault = faultAt(error, "/buttons");
  return (
    <fieldset class="stack">
      <legend class="field-legend">
        Buttons <span class="quiet">optional</span>
      </legend>
      {fault !== undefined && <p class="fault">{fault}</p>}
      {buttons.map((button, at) => (
        <OneButton
          key={button.key}
          at={at}
          button={button}
          error={error}
          onButton={(changed) => onButtons(buttons.map((other) => (other.key === button.key ? changed : other)))}
          onRemove={() => onButtons(buttons.filter(({ key }) => key !== button.key))}
        />
      ))}
      <div class="actions">
        <button type="button" class="small" onClick={add} disabled={buttons.length >= MAX_BUTTONS}>
          Add a button
        </button>
        <span class="hint">Up to 10; 2 of them open a URL, 1 calls a number.</span>
      </div>
    </fieldset>
  );
}

type OneProps = { at: number; button: ButtonDraft; error: unknown; onButton: (button: ButtonDraft) => void; onRemove: () => void };

function OneButton({ at, button, error, onButton, onRemove }: OneProps): JSX.Element {
  const { type, text, target } = button;
  const types = BUTTON_TYPES.includes(type) ? BUTTON_TYPES : [...BUTTON_TYPES, type];
  const fault = (field: string): string | undefined => faultAt(error, `/buttons/${at}/${field}`);
  return (
    <div class="button-row" role="group" aria-label={`Button ${at + 1}`}>
      <SelectField
        label="Type"
        value={type}
        onValue={(value) => onButton({ ...button, type: value })}
        options={types.map((option) => [option, words(option)] as const)}
        error={fault("type")}
      />
      <TextField label="Text" value={text} onValue={(value) => onButton({ ...button, text: value })} error={fault("text")} />
      {type === "url" && (
        <TextField
          label="URL"
          type="url"
          placeholder="https://example.com/orders"
          hint={
            <>
              If it ends with <code>{URL_VARIABLE}</code>, each message gives the end.
            </>
          }
          value={target}
          onValue={(value) => onButton({ ...button, target: value })}
          error={fault("url")}
        />
      )}
      {type === "phone_number" && (
        <TextField
          label="Phone number"
          type="tel"
          placeholder="+14155550123"
          value={target}
          onValue={(value) => onButton({ ...button, target: value })}
          error={fault("phone_number")}
        />
      )}
      <button type="button" class="small" onClick={onRemove} aria-label={`Remove button ${at + 1}`}>
        Remove
      </button>
    </div>
  );
}
