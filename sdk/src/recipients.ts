/** The data of one person: `/v1/recipients`. */
import type { BodyOf, WriteOptions } from "./operation.ts";
import { RecipientExport, type ExportOptions } from "./recipient-export.ts";
import type { Call } from "./response.ts";
import type { Erasure } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class Recipients {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Erases the data of a person. Repeat the call while `has_more` is true, and later if messages are unfinished. */
  erase(person: BodyOf<"eraseRecipient">, options?: WriteOptions): Call<Erasure> {
    return this.#transport.call("eraseRecipient", { body: person }, options);
  }

  /** Exports every record of a person. Sends the request when the export is iterated. */
  export(person: BodyOf<"exportRecipient">, options: ExportOptions = {}): RecipientExport {
    return new RecipientExport(this.#transport, person, options);
  }
}
