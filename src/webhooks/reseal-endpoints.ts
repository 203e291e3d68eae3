/** Seals the secrets of all endpoints anew, when the server's secret key has changed. */
import { NO_ID, type EndpointId } from "../lib/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Tx } from "../storage/database.ts";
import { secretPlace, type Endpoint } from "./endpoint.ts";
import { listSealed, storeEndpoint } from "./endpoint-queries.ts";

const PAGE = 500;

export async function resealEndpoints(tx: Tx, box: SecretBox): Promise<void> {
  let after: EndpointId = NO_ID;
  for (;;) {
    const page = await listSealed(tx, after, PAGE);
    for (const endpoint of page) await storeEndpoint(tx, resealed(endpoint, box));
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.id;
  }
}

function resealed(endpoint: Endpoint, box: SecretBox): Endpoint {
  const place = secretPlace(endpoint);
  const anew = (sealed: string): string => box.seal(box.open(sealed, place), place);
  const { secret, previousSecret } = endpoint;
  return { ...endpoint, secret: anew(secret), previousSecret: previousSecret === null ? null : anew(previousSecret) };
}
