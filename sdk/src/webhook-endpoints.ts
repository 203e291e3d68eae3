/** Webhook endpoints and their deliveries: `/v1/webhook_endpoints`. */
import type { BodyOf, CallOptions, QueryOf, WriteOptions } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Call } from "./response.ts";
import type { DeletedWebhookEndpoint, TestEvent, WebhookDelivery, WebhookEndpoint, WebhookEndpointWithSecret } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class WebhookEndpoints {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Creates a webhook endpoint. Only this response and that of `rotateSecret` contain the secret. */
  create(endpoint: BodyOf<"post_webhook_endpoints">, options?: WriteOptions): Call<WebhookEndpointWithSecret> {
    return this.#transport.call("post_webhook_endpoints", { body: endpoint }, options);
  }

  /** Retrieves a webhook endpoint, without its secret. */
  get(id: string, options?: CallOptions): Call<WebhookEndpoint> {
    return this.#transport.call("get_webhook_endpoints_id", { path: { id } }, options);
  }

  /** Lists webhook endpoints, newest first. */
  list(query?: QueryOf<"get_webhook_endpoints">, options?: CallOptions): PagesOf<"get_webhook_endpoints"> {
    return listPages(this.#transport, "get_webhook_endpoints", { query }, options);
  }

  /** Changes a webhook endpoint. */
  edit(id: string, changes: BodyOf<"patch_webhook_endpoints_id">, options?: WriteOptions): Call<WebhookEndpoint> {
    return this.#transport.call("patch_webhook_endpoints_id", { path: { id }, body: changes }, options);
  }

  /** The same as `edit`. */
  update(...input: Parameters<WebhookEndpoints["edit"]>): Call<WebhookEndpoint> {
    return this.edit(...input);
  }

  /** Deletes a webhook endpoint. There is no idempotency key: `not_found` after an attempt without a response means that it is deleted. */
  delete(id: string, options?: CallOptions): Call<DeletedWebhookEndpoint> {
    return this.#transport.call("delete_webhook_endpoints_id", { path: { id } }, options);
  }

  /** Replaces the secret. Only this response contains the new secret. For 24 hours deliveries are signed with both secrets. */
  rotateSecret(id: string, options?: WriteOptions): Call<WebhookEndpointWithSecret> {
    return this.#transport.call("post_webhook_endpoints_id_rotate_secret", { path: { id } }, options);
  }

  /** Sends an event of the type `webhook.test` to the endpoint. */
  test(id: string, options?: WriteOptions): Call<TestEvent> {
    return this.#transport.call("post_webhook_endpoints_id_test", { path: { id } }, options);
  }

  /** Lists the deliveries of an endpoint, newest event first, each with all its attempts and responses. */
  deliveries(
    id: string,
    query?: QueryOf<"get_webhook_endpoints_id_deliveries">,
    options?: CallOptions,
  ): PagesOf<"get_webhook_endpoints_id_deliveries"> {
    return listPages(this.#transport, "get_webhook_endpoints_id_deliveries", { path: { id }, query }, options);
  }

  /** Retrieves one delivery with all its attempts. */
  delivery(id: string, deliveryId: string, options?: CallOptions): Call<WebhookDelivery> {
    return this.#transport.call("get_webhook_endpoints_id_deliveries_delivery_id", { path: { id, delivery_id: deliveryId } }, options);
  }

  /** Starts another attempt of a delivery now. */
  retry(id: string, deliveryId: string, options?: WriteOptions): Call<WebhookDelivery> {
    return this.#transport.call(
      "post_webhook_endpoints_id_deliveries_delivery_id_retry",
      { path: { id, delivery_id: deliveryId } },
      options,
    );
  }

  /** Delivers again every event since the given time that the endpoint receives and has not acknowledged. `recovery` of the endpoint shows
   *  the progress. */
  recover(id: string, from: BodyOf<"post_webhook_endpoints_id_recover">, options?: WriteOptions): Call<WebhookEndpoint> {
    return this.#transport.call("post_webhook_endpoints_id_recover", { path: { id }, body: from }, options);
  }
}
