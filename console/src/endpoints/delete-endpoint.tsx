/** The dialog that deletes an endpoint. It asks for confirmation, because waiting deliveries are dropped. */
import type { JSX } from "preact";
import { useAction } from "../lib/action.ts";
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
        <code>{endpoint.url}</code> is told nothing more. What is known of its deliveries goes with it, and its secret; this cannot be
        undone.
      </p>
    </FormDialog>
  );
}
