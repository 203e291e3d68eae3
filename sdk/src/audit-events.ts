/** The audit log: `/v1/audit_events`. */
import type { CallOptions, QueryOf } from "./operation.ts";
import { listPages, type PagesOf } from "./pages.ts";
import type { Transport } from "./transport.ts";

export class AuditEvents {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Lists the changes in this environment and in the account as a whole, newest first. */
  list(query?: QueryOf<"listAuditEvents">, options?: CallOptions): PagesOf<"listAuditEvents"> {
    return listPages(this.#transport, "listAuditEvents", { query }, options);
  }
}
