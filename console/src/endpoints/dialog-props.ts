/** The props of every dialog about an endpoint. */
import type { WebhookEndpoint } from "godwit-sdk";

export type EndpointDialogProps = {
  endpoint: WebhookEndpoint;
  onClose: () => void;
  /** Called with the changed endpoint. */
  onChanged: (endpoint: WebhookEndpoint) => void;
};
