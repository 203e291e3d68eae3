/** Which link a message takes. */
import type { Environment } from "../access/environment.ts";
import { SIMULATOR_LINK, type Link } from "./link.ts";

export class Routes {
  readonly #links: ReadonlyMap<string, Link>;

  constructor(links: readonly Link[]) {
    this.#links = new Map(links.map((link) => [link.name, link]));
  }

  /** Undefined: nothing that is configured would take it. */
  linkFor({ environment }: { environment: Environment }): Link | undefined {
    return environment === "test" ? this.#links.get(SIMULATOR_LINK) : undefined;
  }
}
