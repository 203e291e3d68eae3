/** godwit signing-keys: what access tokens are signed with. */
import { readOrMakeSecretKey } from "../storage/data-directory.ts";
import { SecretBox } from "../lib/secret-box.ts";
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
      const box = new SecretBox(config.secretKey ?? readOrMakeSecretKey(config.dataDir), config.previousSecretKey);
      const keys = new SigningKeys({ db, clock, box });
      print(input.flags, (verb === "list" ? await keys.published() : await keys.rotate(input.flags["revoke"] === true)).map(shown));
    });
  },
};

const shown = ({ kid, activeFromMs }: SigningKey) => ({ kid, signs_from: isoTime(activeFromMs) });
