/** The `carrier_options` of a message: members that only one kind of carrier understands. Each provider declares its own in
 *  `link-settings.ts`. The options are checked for the link that the message takes first; a provider ignores members of another. */
import type { Fault } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { compile } from "../http/validate.ts";
import type { CarrierOptionKind } from "./link-kind.ts";
import { LINK_KINDS } from "./link-settings.ts";
import type { Link } from "./link.ts";
import type { CarrierOptions } from "../providers/provider.ts";

const NO_OPTIONS: CarrierOptionKind = { schema: Type.Object({}, { additionalProperties: false }) };

/** Returns the faults of the options on a link, with pointers into the request. */
export function findOptionFaults({ provider, settings }: Link, options: CarrierOptions): Fault[] {
  const { schema, findFaults } = LINK_KINDS[provider].carrierOptions ?? NO_OPTIONS;
  const faults = compile(schema, "body")(options);
  const found = faults.length > 0 ? faults : (findFaults?.(options, settings as Readonly<Record<string, unknown>>) ?? []);
  return found.map((fault) => ({ ...fault, pointer: `/carrier_options${"pointer" in fault ? fault.pointer : ""}` }));
}
