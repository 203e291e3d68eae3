/** The dialog that disables an endpoint, after a confirmation. */
import type { JSX } from "preact";
import { useAction } from "../lib/action.ts";
import { useApi } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { useToast } from "../ui/toast.tsx";
import type { EndpointDialogProps } from "./dialog-props.ts";

export function DisableEndpoint({ endpoint, onClose, onChanged }: EndpointDialogProps): JSX.Element {
  const api = useApi();
  const say = useToast();
  const action = useAction(async () => {
    onChanged(await api.webhookEndpoints.edit(endpoint.id, { status: "disabled" }));
    say("The endpoint is disabled");
    onClose();
  });
  return (
    <FormDialog title="Disable the endpoint?" submit="Disable" isDangerous action={action} onClose={onClose}>
      <p>
        No more events are delivered to it, and pending deliveries are canceled. After you enable it again, Recover delivers the missed
        events.
      </p>
    </FormDialog>
  );
}
