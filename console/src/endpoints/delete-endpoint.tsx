/** The dialog that deletes an endpoint. It asks for confirmation, because waiting deliveries are dropped. */
import type { JSX } from "preact";
import { useAction } from "../lib/action.ts";
import { endpointName } from "../lib/format.ts";
import { navigate } from "../lib/router.tsx";
import { useApi } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { useToast } from "../ui/toast.tsx";
import type { EndpointDialogProps } from "./dialog-props.ts";

export function DeleteEndpoint({ endpoint, onClose }: EndpointDialogProps): JSX.Element {
  const api = useApi();
  const say = useToast();
  const action = useAction(async () => {
    await api.webhookEndpoints.delete(endpoint.id);
    say("The endpoint is deleted");
    navigate("endpoints");
  });
  return (
    <FormDialog title="Delete the endpoint?" submit="Delete" isDangerous action={action} onClose={onClose}>
      <p>
        No more events are delivered to <code>{endpointName(endpoint)}</code>. The secret and the record of deliveries are deleted. This
        cannot be undone.
      </p>
    </FormDialog>
  );
}
