/** godwit signing-keys: lists and rotates the keys that access tokens are signed with. */
import { checkSecretKey } from "../access/secret-key.ts";
import { SigningKeys, type SigningKey } from "../access/signing-keys.ts";
import type { Config } from "../config.ts";
import { cliOrigin } from "../lib/origin.ts";
import { SecretBox } from "../lib/secret-box.ts";
import { isoTime } from "../lib/time.ts";
import { readOrMakeSecretKey } from "../storage/data-directory.ts";
import type { Database } from "../storage/database.ts";
import { UsageError, type Command } from "./command.ts";
import { print } from "./output.ts";
import { withDatabase } from "./with-database.ts";

export const signingKeys: Command = {
  name: "signing-keys",
  about: [
    "Access tokens are signed by a key that all nodes share. It is replaced by itself after ninety days; a new one is published a quarter of an hour before it signs, and an old one counts until the last token that it signed is over.",
    "With --revoke every token that was bought so far stops working within about a second: its buyers buy new ones with their API keys.",
  ],
  usage: ["signing-keys list [--json]", "signing-keys rotate [--revoke] [--json]"],
  flags: {
    revoke: { type: "boolean", help: "tokens that were signed before count no more, and the new key signs at once: for a key that leaked" },
  },
  settings: "database",
  examples: [
    ["Which keys sign, or soon will:", "godwit signing-keys list"],
    ["A key has leaked:", "godwit signing-keys rotate --revoke"],
  ],
  async run(input) {
    const [verb] = input.words;
    await withDatabase(input, "signing-keys", async ({ db, clock, config }) => {
      const keys = new SigningKeys({ db, clock, box: await openSecretBox(db, config) });
      print(
        input.flags,
        (verb === "list" ? await keys.published() : await keys.rotate(input.flags["revoke"] === true, cliOrigin())).map(shown),
      );
    });
  },
};

/** Opens the box with the secret key of the nodes. The nodes could not read a signing key that another secret key encrypted. */
async function openSecretBox(db: Database, { databaseUrl, secretKey: given, dataDir }: Config): Promise<SecretBox> {
  if (databaseUrl !== undefined && given === undefined)
    throw new UsageError("GODWIT_SECRET_KEY is needed with DATABASE_URL, as the nodes have it");
  const secretKey = given ?? readOrMakeSecretKey(dataDir);
  await checkSecretKey(db, { secretKey, previousSecretKey: undefined }, async () => undefined);
  return new SecretBox(secretKey);
}

const shown = ({ kid, activeFromMs }: SigningKey) => ({ kid, signs_from: isoTime(activeFromMs) });
