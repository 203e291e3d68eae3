/** The dialog that rotates the secret of an endpoint and shows the new one once. */
import type { WebhookEndpointWithSecret } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { useApi } from "../session/use-session.ts";
import { Moment } from "../ui/moment.tsx";
import { SecretDialog } from "../ui/secret-dialog.tsx";
import type { EndpointDialogProps } from "./dialog-props.ts";
import { isAhead } from "./endpoint-facts.tsx";
import { SecretUse } from "./secret-use.tsx";

export function RotateSecret({ endpoint, onClose, onChanged }: EndpointDialogProps): JSX.Element {
  const api = useApi();
  const [rotated, setRotated] = useState<WebhookEndpointWithSecret | undefined>(undefined);
  const action = useAction(async () => setRotated(await api.webhookEndpoints.rotateSecret(endpoint.id)));
  const finish = (): void => {
    if (rotated !== undefined) {
      // The secret must not leave this dialog.
      const { secret: _, ...plain } = rotated;
      onChanged(plain);
    }
    onClose();
  };
  return (
    <SecretDialog
      title={rotated === undefined ? "Rotate the secret?" : "The new secret"}
      submit="Rotate"
      action={action}
      onClose={onClose}
      what="secret"
      secret={rotated?.secret}
      note={
        <>
          {typeof rotated?.previous_secret_until === "string" && (
            <p>
              Until <Moment iso={rotated.previous_secret_until} /> deliveries are signed with the old secret as well.
            </p>
          )}
          <SecretUse />
        </>
      }
      onDone={finish}
    >
      <p>The new secret is shown only once. For 24 hours, deliveries are signed with both secrets, so that you can update the receiver.</p>
      {isAhead(endpoint.previous_secret_until) && (
        <p class="notice">A rotation is still in progress: the secret before the current one stops signing now.</p>
      )}
    </SecretDialog>
  );
}
