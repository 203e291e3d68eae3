/** godwit inbound: lists the inbound messages that belong to no account, and assigns them. */
import { listAccounts } from "../access/queries.ts";
import { openRecipientHasher } from "../access/recipient-hash.ts";
import { ConsentDefaults } from "../consent/consent-defaults.ts";
import { assignKept, listKept, type Assigned } from "../delivery/kept-inbound.ts";
import { decodeId, encodeId, type KeptInboundId } from "../model/id.ts";
import { cliOrigin } from "../model/origin.ts";
import { SecretBox } from "../lib/secret-box.ts";
import { LinkDirectory } from "../links/directory.ts";
import { simulatorLink } from "../links/link.ts";
import { isEnvironment, type Environment } from "../model/owner.ts";
import { neededFlag, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { secretKeyOf } from "./open-setup.ts";
import { contentLine } from "./content-line.ts";
import { print, say } from "./output.ts";
import { chooseAccount, withDatabase, type OpenedDatabase } from "./with-database.ts";

const MAX_LISTED = 1_000;

export const inbound: Command = {
  name: "inbound",
  about: [
    "Inbound messages without an account are kept for 30 days. Their opt-out words have already taken effect. `list` also prints notifications of carriers about numbers without a link. `assign` gives a message to an account, as a new one.",
  ],
  usage: ["inbound list", "inbound assign ID --account NAME|ID [--environment test|live]"],
  flags: {
    account: { value: "NAME|ID", help: "account that receives the message" },
    environment: { value: "ENVIRONMENT", choices: ["test", "live"], fallback: "live", help: "its environment" },
  },
  settings: "database",
  usesSecrets: true,
  hasTables: true,
  examples: [["Assign a message:", "godwit inbound assign inb_01k9zs3v8mf4tb2xg1qj6n0d5c --account default --config godwit.toml"]],
  async run(input) {
    return input.words[0] === "list" ? list(input) : assign(input);
  },
};

const list = (input: Input): Promise<void> =>
  withDatabase(input, "inbound", async ({ db }) => {
    const kept = await listKept(db, MAX_LISTED);
    if (kept.length === MAX_LISTED) say(`only the newest ${MAX_LISTED} are listed`);
    print(input.flags, kept, (each) => ({ ...each, content: contentLine(each.content) }));
  });

async function assign(input: Input): Promise<void> {
  const id = decodeId("inb", input.words[1] ?? "");
  if (id === undefined) throw new UsageError("name the message by its id, inb_…, as godwit inbound list shows it");
  const name = neededFlag(input.flags, "account");
  const environment = textFlag(input.flags, "environment") ?? "live";
  if (!isEnvironment(environment)) throw new UsageError("--environment must be test or live");
  await withDatabase(input, "inbound", async (opened) => {
    const assigned = await assignIn(opened, id, { name, environment });
    if (assigned.kind !== "assigned" && assigned.kind !== "already_assigned") throw new UsageError(REFUSALS[assigned.kind]);
    print(input.flags, { id: encodeId("inb", id), message_id: encodeId("msg", assigned.messageId), account: name, environment });
  });
}

const REFUSALS: Readonly<Record<Exclude<Assigned["kind"], "assigned" | "already_assigned">, string>> = {
  unknown: "there is no kept message with this id; it may be older than 30 days",
  notification: "this is a notification, which belongs to no account",
  assigned_elsewhere: "the message is already assigned to another account or environment",
};

type Wanted = { name: string; environment: Environment };

async function assignIn(opened: OpenedDatabase, id: KeptInboundId, { name, environment }: Wanted): Promise<Assigned> {
  const { db, clock, config } = opened;
  const { id: accountId } = await chooseAccount(db, name);
  // START compares the person with the opt-outs of erased recipients, which are hashes.
  await openRecipientHasher(db, new SecretBox(await secretKeyOf(opened), config.previousSecretKey));
  const accounts = new Map((await listAccounts(db)).map((account) => [account.name, account.id]));
  const linkDirectory = new LinkDirectory(simulatorLink(config.simulatorSpeed), config.plan, accounts);
  const consentDefaults = new ConsentDefaults();
  consentDefaults.replace(config.consent, accounts);
  const mediaRetentionMs = config.mediaRetentionDays * 86_400_000;
  return assignKept({ db, clock, linkDirectory, consentDefaults, mediaRetentionMs }, id, {
    owner: { accountId, environment },
    origin: cliOrigin(),
  });
}
