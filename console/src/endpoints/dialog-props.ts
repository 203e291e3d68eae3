/** What every dialog about an endpoint is given. */
import type { WebhookEndpoint } from "godwit-sdk";

export type EndpointDialogProps = {
  endpoint: WebhookEndpoint;
  onClose: () => void;
  /** The endpoint as the change left it. */
  onChanged: (endpoint: WebhookEndpoint) => void;
};
