/** The dialog that starts a recovery: the delivery of missed events. */
import type { WebhookEndpoint } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { fromLocalInput, toLocalInput } from "../lib/format.ts";
import { useApi } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { faultAt } from "../ui/problem.tsx";
import { useToast } from "../ui/toast.tsx";
import type { EndpointDialogProps } from "./dialog-props.ts";

const DAY_MS = 86_400_000;

/** The default start: the first failure, or one day ago. */
const likelySince = ({ failing_since: failingSince }: WebhookEndpoint): Date =>
  failingSince === null ? new Date(Date.now() - DAY_MS) : new Date(failingSince);

export function RecoverEndpoint({ endpoint, onClose, onChanged }: EndpointDialogProps): JSX.Element {
  const api = useApi();
  const say = useToast();
  const [since, setSince] = useState(() => toLocalInput(likelySince(endpoint)));
  const [isMissing, setMissing] = useState(false);
  const action = useAction(async () => {
    setMissing(since === "");
    if (since === "") return;
    onChanged(await api.webhookEndpoints.recover(endpoint.id, { since: fromLocalInput(since) }));
    say("The recovery has started");
    onClose();
  });
  return (
    <FormDialog title="Recover missed events" submit="Recover" action={action} onClose={onClose}>
      <p>
        Delivers every event since this time that the endpoint selects and has not acknowledged, including events from before it was created
        and while it was disabled.
      </p>
      {endpoint.recovery !== null && <p class="notice">A recovery is in progress. This one replaces it.</p>}
      <TextField
        label="Since"
        type="datetime-local"
        hint="In your local time."
        value={since}
        onValue={setSince}
        error={isMissing ? "Enter a time." : faultAt(action.error, "/since")}
      />
    </FormDialog>
  );
}
