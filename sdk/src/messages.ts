/** Messages: `/v1/messages`. */
import type { CallOptions, QueryOf, WriteOptions } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Call } from "./response.ts";
import type { EditMessage, Message, MessageValidation, NewMessage } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Messages {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Sends a message. When the call resolves, the message is stored durably; its delivery is reported by events. */
  send(message: NewMessage, options?: WriteOptions): Call<Message> {
    return this.#transport.call("sendMessage", { body: message }, options);
  }

  /** The same as `send`. */
  create(...input: Parameters<Messages["send"]>): Call<Message> {
    return this.send(...input);
  }

  /** Retrieves a message with its current status. */
  get(id: string, options?: CallOptions): Call<Message> {
    return this.#transport.call("getMessage", { path: { id } }, options);
  }

  /** Lists messages, newest first. */
  list(query?: QueryOf<"listMessages">, options?: CallOptions): PagesOf<"listMessages"> {
    return listPages(this.#transport, "listMessages", { query }, options);
  }

  /** Lists the timeline of a message, newest first: its events, the attempts to submit it, and ignored signals of carriers. */
  events(id: string, query?: QueryOf<"listMessageEvents">, options?: CallOptions): PagesOf<"listMessageEvents"> {
    return listPages(this.#transport, "listMessageEvents", { path: { id }, query }, options);
  }

  /** Lists the transmitted parts of a message in order, each with its status. Empty before the message is submitted to a carrier. */
  parts(id: string, options?: CallOptions): PagesOf<"listMessageParts"> {
    return listPages(this.#transport, "listMessageParts", { path: { id } }, options);
  }

  /** Changes a message that is `scheduled`. */
  edit(id: string, changes: EditMessage, options?: WriteOptions): Call<Message> {
    return this.#transport.call("editMessage", { path: { id }, body: changes }, options);
  }

  /** The same as `edit`. */
  update(...input: Parameters<Messages["edit"]>): Call<Message> {
    return this.edit(...input);
  }

  /** Cancels a message that is `scheduled` or `queued`. */
  cancel(id: string, options?: WriteOptions): Call<Message> {
    return this.#transport.call("cancelMessage", { path: { id } }, options);
  }

  /** Removes the text, variables and metadata of a message in a final status, also from its events. */
  redact(id: string, options?: WriteOptions): Call<Message> {
    return this.#transport.call("redactMessage", { path: { id } }, options);
  }

  /** Validates a message without sending it. Returns its segments, encoding, rendered template and route, and all its faults. */
  validate(message: NewMessage, options?: WriteOptions): Call<MessageValidation> {
    return this.#transport.call("validateMessage", { body: message }, options);
  }
}
