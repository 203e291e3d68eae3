/** The names of sessions. Each session has its own, by which it is found after it was lost. The names also tell a migration which releases run. */
import { BASELINE, knownSchema } from "./migrations.ts";

/** `session`: a number of its own within the node. */
export const sessionName = (node: string, session: number): string => `godwit ${node} ${session} schema ${knownSchema()}`;

/** The pattern of PostgreSQL that finds the schema in a name. Releases before schema 36 name none. */
export const SCHEMA_IN_NAME = " schema ([0-9]{1,6})$";

/** The node of a session, and the newest schema that its release knows. Sessions of 0.2.0 do not name it. Undefined for the sessions of other
 *  programs. */
export function parseSessionName(name: string): { node: string; schema: number } | undefined {
  const [, node, schema] = /^godwit (\S+) \d+(?: schema (\d+))?$/.exec(name) ?? [];
  return node === undefined ? undefined : { node, schema: Number(schema ?? BASELINE) };
}
