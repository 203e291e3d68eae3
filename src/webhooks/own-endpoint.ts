/** The endpoint that a request names, if it is this environment's. */
import type { Credential } from "../access/authenticate.ts";
import { Problem } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { decodeId } from "../lib/id.ts";
import type { Database } from "../storage/database.ts";
import type { Endpoint } from "./endpoint.ts";
import { findEndpoint } from "./endpoint-queries.ts";

export const EndpointParams = Type.Object({ id: Type.String({ description: "The endpoint's id." }) });

export async function findOwnEndpoint(db: Database, credential: Credential, text: string): Promise<Endpoint> {
  const id = decodeId("whe", text);
  const endpoint = id && (await findEndpoint(db, credential, id));
  if (endpoint === undefined) throw noSuchEndpoint();
  return endpoint;
}

export const noSuchEndpoint = (): Problem => new Problem("not_found", { detail: "no such endpoint in this environment" });
