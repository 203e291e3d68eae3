/** The actions that the current status of a message permits. */
import type { Message } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { fromLocalInput, toLocalInput } from "../lib/format.ts";
import { navigate } from "../lib/router.tsx";
import { useApi, useMay, useSession } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { faultAt } from "../ui/problem.tsx";
import { useToast } from "../ui/toast.tsx";
import { keepDraft, toDraft } from "./draft.ts";
import { isFinal } from "./use-message.ts";

type Open = "cancel" | "reschedule" | "redact";
type Changed = (message: Message) => void;

export function MessageActions({ message, onChanged }: { message: Message; onChanged: Changed }): JSX.Element | null {
  const maySend = useMay("messages:send");
  const { identity } = useSession();
  const [open, setOpen] = useState<Open | undefined>(undefined);
  if (!maySend) return null;
  const close = (): void => setOpen(undefined);
  const done: Changed = (changed) => {
    close();
    onChanged(changed);
  };
  const { status, direction, body } = message;
  const sendAgain = (): void => {
    keepDraft(toDraft(message), identity.keyId);
    navigate("send");
  };
  return (
    <>
      {(status === "scheduled" || status === "queued") && (
        <button type="button" onClick={() => setOpen("cancel")}>
          Cancel message
        </button>
      )}
      {status === "scheduled" && (
        <button type="button" onClick={() => setOpen("reschedule")}>
          Reschedule
        </button>
      )}
      {isFinal(message) && body !== null && (
        <button type="button" onClick={() => setOpen("redact")}>
          Redact
        </button>
      )}
      {direction === "outbound" && (
        <button type="button" onClick={sendAgain}>
          Send again as new
        </button>
      )}
      {open === "cancel" && <Cancel message={message} onClose={close} onDone={done} />}
      {open === "reschedule" && <Reschedule message={message} onClose={close} onDone={done} />}
      {open === "redact" && <Redact message={message} onClose={close} onDone={done} />}
    </>
  );
}

type DialogProps = { message: Message; onClose: () => void; onDone: Changed };

function Cancel({ message, onClose, onDone }: DialogProps): JSX.Element {
  const api = useApi();
  const say = useToast();
  const action = useAction(async () => {
    onDone(await api.messages.cancel(message.id));
    say("The message is canceled");
  });
  return (
    <FormDialog title="Cancel this message?" submit="Cancel message" dismiss="Keep it" isDangerous action={action} onClose={onClose}>
      <p>The message will not be sent to {message.recipient}. This cannot be undone; you can send it again as a new message.</p>
    </FormDialog>
  );
}

function Reschedule({ message, onClose, onDone }: DialogProps): JSX.Element {
  const api = useApi();
  const say = useToast();
  const [at, setAt] = useState(message.send_at === null ? "" : toLocalInput(new Date(message.send_at)));
  const action = useAction(async () => {
    onDone(await api.messages.edit(message.id, { send_at: fromLocalInput(at) }));
    say("The message is rescheduled");
  });
  return (
    <FormDialog title="Reschedule" submit="Reschedule" action={action} onClose={onClose}>
      <TextField
        label="Send at"
        type="datetime-local"
        hint="In your local time, up to 35 days ahead."
        value={at}
        onValue={setAt}
        error={faultAt(action.error, "/send_at")}
      />
    </FormDialog>
  );
}

function Redact({ message, onClose, onDone }: DialogProps): JSX.Element {
  const api = useApi();
  const say = useToast();
  const action = useAction(async () => {
    onDone(await api.messages.redact(message.id));
    say("The message is redacted");
  });
  return (
    <FormDialog title="Redact this message?" submit="Redact" isDangerous action={action} onClose={onClose}>
      <p>
        The text, variables and metadata are removed permanently, also from events and stored responses. The status and the timeline stay.
        This cannot be undone.
      </p>
    </FormDialog>
  );
}
