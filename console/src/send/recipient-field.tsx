/** The recipient: a phone number, or in test a recipient of the simulator. */
import type { JSX } from "preact";
import { useSession } from "../session/use-session.ts";
import { TextField } from "../ui/field.tsx";
import { SIMULATOR_RECIPIENTS, type SimulatorRecipient } from "./simulator-recipients.ts";

type RecipientProps = {
  value: string;
  error: string | undefined;
  onValue: (value: string) => void;
  onSimulated: (recipient: SimulatorRecipient) => void;
};

export function RecipientField({ value, error, onValue, onSimulated }: RecipientProps): JSX.Element {
  const { identity } = useSession();
  return (
    <>
      <TextField label="Recipient" type="tel" placeholder="+14155550123" value={value} onValue={onValue} error={error} />
      {identity.environment === "test" && (
        <fieldset class="chips">
          <legend>Test numbers</legend>
          {SIMULATOR_RECIPIENTS.map((recipient) => (
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
        </fieldset>
      )}
    </>
  );
}
