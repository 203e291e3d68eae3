/** The dialog that creates an endpoint and then shows its secret once. */
import type { WebhookEndpointWithSecret } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { navigate } from "../lib/router.tsx";
import { useApi } from "../session/use-session.ts";
import { SecretDialog } from "../ui/secret-dialog.tsx";
import { EndpointFields, NEW_DRAFT, toBody, useDraft } from "./endpoint-fields.tsx";
import { SecretUse } from "./secret-use.tsx";

export function AddEndpoint({ onClose }: { onClose: () => void }): JSX.Element {
  const api = useApi();
  const [draft, change] = useDraft(NEW_DRAFT);
  const [made, setMade] = useState<WebhookEndpointWithSecret | undefined>(undefined);
  const action = useAction(async () => setMade(await api.webhookEndpoints.create(toBody(draft))));
  return (
    <SecretDialog
      title={made === undefined ? "Add an endpoint" : "Endpoint created"}
      submit="Add"
      action={action}
      onClose={onClose}
      what="secret"
      secret={made?.secret}
      note={<SecretUse />}
      onDone={() => navigate(`endpoints/${made?.id ?? ""}`)}
    >
      <EndpointFields draft={draft} onChange={change} error={action.error} />
    </SecretDialog>
  );
}
