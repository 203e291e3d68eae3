/** The dialog that adds a suppression. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { cleanNumber } from "../../../src/bulk/clean-number.ts";
import { useAction } from "../lib/action.ts";
import { useApi } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { faultAt } from "../ui/problem.tsx";
import { useToast } from "../ui/toast.tsx";

export function AddSuppression({ onClose, onDone }: { onClose: () => void; onDone: () => void }): JSX.Element {
  const api = useApi();
  const say = useToast();
  const [recipient, setRecipient] = useState("");
  const [sender, setSender] = useState("");
  const [note, setNote] = useState("");
  const action = useAction(async () => {
    const number = cleanNumber(recipient);
    await api.suppressions.create({ recipient: number, sender: cleanNumber(sender) || null, note: note.trim() || null });
    say(`${number} is suppressed`);
    onDone();
  });
  return (
    <FormDialog title="Add a recipient" submit="Suppress" action={action} onClose={onClose}>
      <TextField
        label="Recipient"
        type="tel"
        placeholder="+14155550123"
        value={recipient}
        onValue={setRecipient}
        error={faultAt(action.error, "/recipient")}
      />
      <TextField
        label="Sender"
        isOptional
        hint="Suppresses messages from this sender only. Empty: from all senders."
        value={sender}
        onValue={setSender}
        error={faultAt(action.error, "/sender")}
      />
      <TextField label="Note" isOptional value={note} onValue={setNote} error={faultAt(action.error, "/note")} />
    </FormDialog>
  );
}
