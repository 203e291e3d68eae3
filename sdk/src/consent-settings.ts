/** Consent settings: `/v1/consent_settings`. */
import type { BodyOf, CallOptions, WriteOptions } from "./operation.ts";
import type { Call } from "./response.ts";
import type { ConsentSettings } from "./schema.ts";
import type { Transport } from "./transport.ts";

export class ConsentOfEnvironment {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Retrieves the words by which people opt out, and the automatic replies to them. */
  get(options?: CallOptions): Call<ConsentSettings> {
    return this.#transport.call("getConsentSettings", {}, options);
  }

  /** Changes some of the settings. The others stay. */
  edit(change: BodyOf<"updateConsentSettings">, options?: WriteOptions): Call<ConsentSettings> {
    return this.#transport.call("updateConsentSettings", { body: change }, options);
  }

  /** The same as `edit`. */
  update(...input: Parameters<ConsentOfEnvironment["edit"]>): Call<ConsentSettings> {
    return this.edit(...input);
  }
}
