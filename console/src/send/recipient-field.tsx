/** The recipient: a phone number, or in test a recipient of the simulator. */
import type { ComponentChildren, JSX } from "preact";
import { useSession } from "../session/use-session.ts";
import { TextField } from "../ui/field.tsx";
import { SIMULATOR_RECIPIENTS, type SimulatorRecipient } from "./simulator-recipients.ts";

// The others are behind a fold, so that the text of the message is on the first screen.
const SHOWN = 6;

type RecipientProps = {
  value: string;
  error: string | undefined;
  onValue: (value: string) => void;
  onSimulated: (recipient: SimulatorRecipient) => void;
  /** Shown below the field. */
  children: ComponentChildren;
};

export function RecipientField({ value, error, onValue, onSimulated, children }: RecipientProps): JSX.Element {
  const { identity } = useSession();
  return (
    <>
      <TextField label="Recipient" type="tel" placeholder="+14155550123" value={value} onValue={onValue} error={error} />
      {children}
      {identity.environment === "test" && (
        <fieldset class="chips">
          <legend>Test numbers</legend>
          <Recipients of={SIMULATOR_RECIPIENTS.slice(0, SHOWN)} value={value} onSimulated={onSimulated} />
          <details>
            <summary>{SIMULATOR_RECIPIENTS.length - SHOWN} other outcomes</summary>
            <div class="chips">
              <Recipients of={SIMULATOR_RECIPIENTS.slice(SHOWN)} value={value} onSimulated={onSimulated} />
            </div>
          </details>
        </fieldset>
      )}
    </>
  );
}

type RecipientsProps = { of: readonly SimulatorRecipient[] } & Pick<RecipientProps, "value" | "onSimulated">;

const Recipients = ({ of: recipients, value, onSimulated }: RecipientsProps): JSX.Element => (
  <>
    {recipients.map((recipient) => (
      <button
        key={recipient.number}
        type="button"
        class="small"
        aria-pressed={value === recipient.number}
        title={recipient.number}
        onClick={() => onSimulated(recipient)}
      >
        {recipient.outcome}
      </button>
    ))}
  </>
);
