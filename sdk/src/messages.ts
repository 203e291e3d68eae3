/** `/v1/messages`. */
import type { Call } from "./answer.ts";
import type { CallOptions, QueryOf, WriteOptions } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { EditMessage, Message, MessageValidation, NewMessage } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Messages {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Accepted for good when this resolves; what becomes of it is told by events. */
  send(message: NewMessage, options?: WriteOptions): Call<Message> {
    return this.#transport.call("post_messages", { body: message }, options);
  }

  get(id: string, options?: CallOptions): Call<Message> {
    return this.#transport.call("get_messages_id", { path: { id } }, options);
  }

  /** Newest first. */
  list(query?: QueryOf<"get_messages">, options?: CallOptions): PagesOf<"get_messages"> {
    return listPages(this.#transport, "get_messages", { query }, options);
  }

  /** Its timeline, newest first: every change, try and receipt. */
  events(id: string, query?: QueryOf<"get_messages_id_events">, options?: CallOptions): PagesOf<"get_messages_id_events"> {
    return listPages(this.#transport, "get_messages_id_events", { path: { id }, query }, options);
  }

  /** Its parts on the wire, in their order, with what became of each. None before a carrier has taken it. */
  parts(id: string, options?: CallOptions): PagesOf<"get_messages_id_parts"> {
    return listPages(this.#transport, "get_messages_id_parts", { path: { id } }, options);
  }

  /** While it is `scheduled`. */
  edit(id: string, changes: EditMessage, options?: WriteOptions): Call<Message> {
    return this.#transport.call("patch_messages_id", { path: { id }, body: changes }, options);
  }

  /** While it is `scheduled` or `queued`. */
  cancel(id: string, options?: WriteOptions): Call<Message> {
    return this.#transport.call("post_messages_id_cancel", { path: { id } }, options);
  }

  /** Takes the text, the variables and the metadata out of a message that has come to its end, and out of its events. */
  redact(id: string, options?: WriteOptions): Call<Message> {
    return this.#transport.call("post_messages_id_redact", { path: { id } }, options);
  }

  /** Sends nothing: parts, encoding, the text of a template, the route, and everything that is wrong. */
  validate(message: NewMessage, options?: WriteOptions): Call<MessageValidation> {
    return this.#transport.call("post_messages_validate", { body: message }, options);
  }
}
