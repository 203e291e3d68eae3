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
  create(endpoint: BodyOf<"createWebhookEndpoint">, options?: WriteOptions): Call<WebhookEndpointWithSecret> {
    return this.#transport.call("createWebhookEndpoint", { body: endpoint }, options);
  }

  /** Retrieves a webhook endpoint, without its secret. */
  get(id: string, options?: CallOptions): Call<WebhookEndpoint> {
    return this.#transport.call("getWebhookEndpoint", { path: { id } }, options);
  }

  /** Lists webhook endpoints, newest first. */
  list(query?: QueryOf<"listWebhookEndpoints">, options?: CallOptions): PagesOf<"listWebhookEndpoints"> {
    return listPages(this.#transport, "listWebhookEndpoints", { query }, options);
  }

  /** Changes a webhook endpoint. */
  edit(id: string, changes: BodyOf<"updateWebhookEndpoint">, options?: WriteOptions): Call<WebhookEndpoint> {
    return this.#transport.call("updateWebhookEndpoint", { path: { id }, body: changes }, options);
  }

  /** The same as `edit`. */
  update(...input: Parameters<WebhookEndpoints["edit"]>): Call<WebhookEndpoint> {
    return this.edit(...input);
  }

  /** Deletes a webhook endpoint. There is no idempotency key: `not_found` after an attempt without a response means that it is deleted. */
  delete(id: string, options?: CallOptions): Call<DeletedWebhookEndpoint> {
    return this.#transport.call("deleteWebhookEndpoint", { path: { id } }, options);
  }

  /** Replaces the secret. Only this response contains the new secret. For 24 hours deliveries are signed with both secrets. */
  rotateSecret(id: string, options?: WriteOptions): Call<WebhookEndpointWithSecret> {
    return this.#transport.call("rotateWebhookEndpointSecret", { path: { id } }, options);
  }

  /** Sends an event of the type `webhook.test` to the endpoint. */
  test(id: string, options?: WriteOptions): Call<TestEvent> {
    return this.#transport.call("testWebhookEndpoint", { path: { id } }, options);
  }

  /** Lists the deliveries of an endpoint, newest event first, each with all its attempts and responses. */
  deliveries(id: string, query?: QueryOf<"listWebhookDeliveries">, options?: CallOptions): PagesOf<"listWebhookDeliveries"> {
    return listPages(this.#transport, "listWebhookDeliveries", { path: { id }, query }, options);
  }

  /** Retrieves one delivery with all its attempts. */
  delivery(id: string, deliveryId: string, options?: CallOptions): Call<WebhookDelivery> {
    return this.#transport.call("getWebhookDelivery", { path: { id, delivery_id: deliveryId } }, options);
  }

  /** Starts another attempt of a delivery now. */
  retry(id: string, deliveryId: string, options?: WriteOptions): Call<WebhookDelivery> {
    return this.#transport.call("retryWebhookDelivery", { path: { id, delivery_id: deliveryId } }, options);
  }

  /** Delivers again every event since the given time that the endpoint receives and has not acknowledged. `recovery` of the endpoint shows
   *  the progress. */
  recover(id: string, from: BodyOf<"recoverWebhookEndpoint">, options?: WriteOptions): Call<WebhookEndpoint> {
    return this.#transport.call("recoverWebhookEndpoint", { path: { id }, body: from }, options);
  }
}
