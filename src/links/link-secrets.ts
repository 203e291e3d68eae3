/** The secrets of created links, sealed with the secret key of the service. */
import { encodeId, type LinkId } from "../model/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Tx } from "../database/database.ts";
import type { LinkSecrets } from "./link-definition.ts";
import { readLinks, writeSecrets, type LinkRow } from "./setup-queries.ts";

const contextOf = (id: LinkId): string => `link ${encodeId("lnk", id)}`;

/** Returns undefined where the secrets were sealed with a key that the service does not have. */
export function openSecrets(box: SecretBox, { id, secrets }: Pick<LinkRow, "id" | "secrets">): LinkSecrets | undefined {
  try {
    return JSON.parse(box.open(secrets, contextOf(id))) as LinkSecrets;
  } catch {
    return undefined;
  }
}

export const sealSecrets = (box: SecretBox, id: LinkId, secrets: LinkSecrets): string => box.seal(JSON.stringify(secrets), contextOf(id));

/** Seals all secrets with the current secret key, where the one before it was replaced. Secrets that cannot be opened stay as they are: their
 *  account has to give them again. */
export async function resealLinks(tx: Tx, box: SecretBox): Promise<void> {
  for (const row of await readLinks(tx, null)) {
    const secrets = openSecrets(box, row);
    if (secrets !== undefined) await writeSecrets(tx, { ...row, secrets: sealSecrets(box, row.id, secrets) });
  }
}
