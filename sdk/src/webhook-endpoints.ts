/** `/v1/webhook_endpoints`. */
import type { Call } from "./answer.ts";
import type { BodyOf, CallOptions, QueryOf, WriteOptions } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { DeletedWebhookEndpoint, TestEvent, WebhookDelivery, WebhookEndpoint, WebhookEndpointWithSecret } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class WebhookEndpoints {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The answer shows its secret, this once. */
  create(endpoint: BodyOf<"post_webhook_endpoints">, options?: WriteOptions): Call<WebhookEndpointWithSecret> {
    return this.#transport.call("post_webhook_endpoints", { body: endpoint }, options);
  }

  get(id: string, options?: CallOptions): Call<WebhookEndpoint> {
    return this.#transport.call("get_webhook_endpoints_id", { path: { id } }, options);
  }

  /** Newest first. */
  list(query?: QueryOf<"get_webhook_endpoints">, options?: CallOptions): PagesOf<"get_webhook_endpoints"> {
    return listPages(this.#transport, "get_webhook_endpoints", { query }, options);
  }

  edit(id: string, changes: BodyOf<"patch_webhook_endpoints_id">, options?: WriteOptions): Call<WebhookEndpoint> {
    return this.#transport.call("patch_webhook_endpoints_id", { path: { id }, body: changes }, options);
  }

  /** A deleted endpoint is not found: after an attempt without an answer, `not_found` says that it is gone. */
  delete(id: string, options?: CallOptions): Call<DeletedWebhookEndpoint> {
    return this.#transport.call("delete_webhook_endpoints_id", { path: { id } }, options);
  }

  /** The answer shows the new secret, this once. For 24 hours deliveries are signed by both. */
  rotateSecret(id: string, options?: WriteOptions): Call<WebhookEndpointWithSecret> {
    return this.#transport.call("post_webhook_endpoints_id_rotate_secret", { path: { id } }, options);
  }

  /** An event of its own, `webhook.test`. */
  test(id: string, options?: WriteOptions): Call<TestEvent> {
    return this.#transport.call("post_webhook_endpoints_id_test", { path: { id } }, options);
  }

  /** With every try and what was answered, newest event first. */
  deliveries(
    id: string,
    query?: QueryOf<"get_webhook_endpoints_id_deliveries">,
    options?: CallOptions,
  ): PagesOf<"get_webhook_endpoints_id_deliveries"> {
    return listPages(this.#transport, "get_webhook_endpoints_id_deliveries", { path: { id }, query }, options);
  }

  delivery(id: string, deliveryId: string, options?: CallOptions): Call<WebhookDelivery> {
    return this.#transport.call("get_webhook_endpoints_id_deliveries_delivery_id", { path: { id, delivery_id: deliveryId } }, options);
  }

  /** Once more, now. */
  retry(id: string, deliveryId: string, options?: WriteOptions): Call<WebhookDelivery> {
    return this.#transport.call(
      "post_webhook_endpoints_id_deliveries_delivery_id_retry",
      { path: { id, delivery_id: deliveryId } },
      options,
    );
  }

  /** Everything since then that it wants and has not acknowledged. `recovery` of the endpoint shows how far it is. */
  recover(id: string, from: BodyOf<"post_webhook_endpoints_id_recover">, options?: WriteOptions): Call<WebhookEndpoint> {
    return this.#transport.call("post_webhook_endpoints_id_recover", { path: { id }, body: from }, options);
  }
}
