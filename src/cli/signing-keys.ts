/** godwit signing-keys: what access tokens are signed with. */
import { checkSecretKey } from "../access/secret-key.ts";
import { readOrMakeSecretKey } from "../storage/data-directory.ts";
import type { Config } from "../config.ts";
import { SecretBox } from "../lib/secret-box.ts";
import type { Database } from "../storage/database.ts";
import { isoTime } from "../lib/time.ts";
import { SigningKeys, type SigningKey } from "../tokens/signing-keys.ts";
import { print, UsageError, withDatabase, type Command } from "./command.ts";

export const signingKeys: Command = {
  name: "signing-keys",
  usage: ["signing-keys list [--json]", "signing-keys rotate [--revoke] [--json]"],
  flags: {
    revoke: { type: "boolean", help: "tokens that were signed before count no more, and the new key signs at once: for a key that leaked" },
  },
  async run(input) {
    const [verb] = input.words;
    if (verb !== "list" && verb !== "rotate") throw new UsageError("say what to do with signing keys");
    await withDatabase(input, "signing-keys", async ({ db, clock, config }) => {
      const keys = new SigningKeys({ db, clock, box: await boxOf(db, config) });
      print(input.flags, (verb === "list" ? await keys.published() : await keys.rotate(input.flags["revoke"] === true)).map(shown));
    });
  },
};

/** Opened by the key that the nodes have: what is sealed by any other they could not use. */
async function boxOf(db: Database, { databaseUrl, secretKey: given, dataDir }: Config): Promise<SecretBox> {
  if (databaseUrl !== undefined && given === undefined)
    throw new UsageError("GODWIT_SECRET_KEY is needed with DATABASE_URL, as the nodes have it");
  const secretKey = given ?? readOrMakeSecretKey(dataDir);
  await checkSecretKey(db, { secretKey, previousSecretKey: undefined }, async () => undefined);
  return new SecretBox(secretKey);
}

const shown = ({ kid, activeFromMs }: SigningKey) => ({ kid, signs_from: isoTime(activeFromMs) });
