/** godwit signing-keys: lists and rotates the keys that access tokens are signed with. */
import { checkSecretKey } from "../access/secret-key.ts";
import { SigningKeys, type SigningKey } from "../access/signing-keys.ts";
import { cliOrigin } from "../model/origin.ts";
import { SecretBox } from "../lib/secret-box.ts";
import { isoTime } from "../lib/time.ts";
import type { Command } from "./command.ts";
import { secretKeyOf } from "./open-setup.ts";
import { print } from "./output.ts";
import { withDatabase, type OpenedDatabase } from "./with-database.ts";

export const signingKeys: Command = {
  name: "signing-keys",
  about: [
    "Access tokens are signed with a key that is replaced every ninety days. A new key is published 15 minutes before its use; an old one is valid until its last token has expired.",
  ],
  usage: ["signing-keys list", "signing-keys rotate [--revoke]"],
  flags: {
    revoke: { isSwitch: true, help: "after a leak: use the new key at once, and refuse all earlier tokens within about a second" },
  },
  settings: "database",
  hasTables: true,
  examples: [["A key has leaked:", "godwit signing-keys rotate --revoke"]],
  async run(input) {
    const [verb] = input.words;
    await withDatabase(input, "signing-keys", async (opened) => {
      const { db, clock } = opened;
      const keys = new SigningKeys({ db, clock, box: await openSecretBox(opened) });
      print(
        input.flags,
        (verb === "list" ? await keys.published() : await keys.rotate(input.flags["revoke"] === true, cliOrigin())).map(shown),
      );
    });
  },
};

/** Opens the box with the secret key of the nodes. The nodes could not read a signing key that another secret key encrypted. */
async function openSecretBox(opened: OpenedDatabase): Promise<SecretBox> {
  const secretKey = await secretKeyOf(opened, true);
  await checkSecretKey(opened.db, { secretKey, previousSecretKey: undefined }, async () => undefined);
  return new SecretBox(secretKey);
}

const shown = ({ kid, activeFromMs }: SigningKey) => ({ kid, signs_from: isoTime(activeFromMs) });
