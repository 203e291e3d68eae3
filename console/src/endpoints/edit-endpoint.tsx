/** The dialog that changes the URL, the description or the event types of an endpoint. */
import type { WebhookEndpoint } from "godwit-sdk";
import type { JSX } from "preact";
import { useAction } from "../lib/action.ts";
import { useApi } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { useToast } from "../ui/toast.tsx";
import type { EndpointDialogProps } from "./dialog-props.ts";
import { EndpointFields, toBody, useDraft, type Draft } from "./endpoint-fields.tsx";

const toDraft = ({ url, description, event_types: eventTypes }: WebhookEndpoint): Draft => ({
  url,
  description: description ?? "",
  eventTypes,
});

export function EditEndpoint({ endpoint, onClose, onChanged }: EndpointDialogProps): JSX.Element {
  const api = useApi();
  const say = useToast();
  const [draft, change] = useDraft(toDraft(endpoint));
  const action = useAction(async () => {
    onChanged(await api.webhookEndpoints.edit(endpoint.id, toBody(draft)));
    say("The endpoint is changed");
    onClose();
  });
  return (
    <FormDialog title="Edit the endpoint" submit="Save" action={action} onClose={onClose}>
      <EndpointFields draft={draft} onChange={change} error={action.error} />
    </FormDialog>
  );
}
