/** godwit kannel-credentials: creates, lists and revokes the credentials of an API that is compatible with another product. */
import { parseScopes, SCOPE_PRESETS, SCOPES, type Scope } from "../access/scope.ts";
import { CredentialChanger } from "../compatible/change-credential.ts";
import type { Settings } from "../compatible/compatible-api.ts";
import { credentialRecord, NewCredentialBody } from "../compatible/credential-record.ts";
import { findCompatible, listCredentials } from "../compatible/queries.ts";
import { COMPATIBLE_APIS } from "../compatible-apis.ts";
import { environmentVariables } from "../config.ts";
import { Problem } from "../http/problem.ts";
import { didYouMean } from "../lib/nearest.ts";
import { SecretBox } from "../lib/secret-box.ts";
import { secretReader } from "../lib/secret-files.ts";
import { MAX_UUID } from "../lib/uuid.ts";
import type { MessageSource } from "../messages/message.ts";
import { decodeId } from "../model/id.ts";
import { cliOrigin } from "../model/origin.ts";
import { ENVIRONMENTS, isEnvironment, type Owner } from "../model/owner.ts";
import { AddressGate } from "../outbound/address-gate.ts";
import { ACCOUNT_FLAG, neededFlag, pairFlags, present, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { checkRequest, secretKeyOf } from "./open-setup.ts";
import { print, say } from "./output.ts";
import { chooseAccount, withDatabase, type OpenedDatabase } from "./with-database.ts";

const MOST_LISTED = 1_000;

/** `hasUserNames`: a person can choose the user name. */
type Texts = { about: string; settings: string; hasUserNames: boolean; examples: Command["examples"] };

/** The command for the credentials of one API. `source` is its name. */
function credentialCommand(source: MessageSource, { about, settings, hasUserNames, examples }: Texts): Command {
  const name = `${source}-credentials`;
  return {
    name,
    about: [`${about} The password is shown only when the credential is created. A revoked credential is refused within about a second.`],
    usage: [
      `${name} create --environment test|live ${hasUserNames ? "[--user NAME] " : ""}[--account NAME|ID] [flags]`,
      `${name} list [--account NAME|ID]`,
      `${name} revoke KEY_ID [--account NAME|ID]`,
    ],
    flags: {
      account: ACCOUNT_FLAG,
      environment: { value: "ENVIRONMENT", choices: ["test", "live"], help: "environment in which the client sends" },
      ...(hasUserNames ? { user: { value: "NAME", help: "user name, unique in the service" } } : {}),
      password: { value: "VARIABLE", help: "environment variable with the password; without it, a random one" },
      scopes: {
        value: "SCOPES",
        choices: [...Object.keys(SCOPE_PRESETS), ...SCOPES],
        isList: true,
        help: "permissions; without it, those that the API needs",
      },
      set: { value: "NAME=VALUE", isRepeated: true, help: settings },
    },
    settings: "database",
    usesSecrets: true,
    hasTables: true,
    examples,
    async run(input) {
      const [verb] = input.words;
      if (verb === "create") return create(source, input);
      if (verb === "list") return listAll(source, input);
      return revoke(source, input);
    },
  };
}

export const kannelCredentials = credentialCommand("kannel", {
  about: "A user of the Kannel API (/cgi-bin/sendsms), as in a sendsms-user group, for one environment of one account.",
  settings: "setting of the client, such as get-url=https://example.com/sms?text=%a",
  hasUserNames: true,
  examples: [
    [
      "A user with the password of an environment variable:",
      "godwit kannel-credentials create --environment live --user playsms --password KANNEL_PASSWORD",
    ],
  ],
});

export const twilioCredentials = credentialCommand("twilio", {
  about:
    "A credential of the Twilio API (/twilio/2010-04-01), for one environment of one account: an account SID with an auth token, or an API key with its secret.",
  settings: "type=api_key for an API key; sms_url=URL for inbound messages",
  hasUserNames: false,
  examples: [
    [
      "An account SID, with the URL for inbound messages:",
      "godwit twilio-credentials create --environment live --set sms_url=https://example.com/sms",
    ],
    ["An API key:", "godwit twilio-credentials create --environment live --set type=api_key"],
  ],
});

async function create(source: MessageSource, input: Input): Promise<void> {
  const environment = neededFlag(input.flags, "environment");
  if (!isEnvironment(environment)) throw new UsageError(`--environment must be test or live, not ${environment}`);
  const settings: Settings = Object.fromEntries(pairFlags(input.flags, "set"));
  const request = present({
    user_name: textFlag(input.flags, "user"),
    secret: passwordOf(textFlag(input.flags, "password")),
    settings,
  });
  checkRequest(NewCredentialBody, { source, ...request });
  const scopes = scopesOf(source, textFlag(input.flags, "scopes"), settings);
  await withChanger(input, async ({ db, changer, accountId }) => {
    const owner = { accountId, environment };
    const created = await db.transaction(async (tx) => {
      const result = await changer.createIn(tx, owner, { source, scopes, ...request }, cliOrigin());
      if (result instanceof Problem) throw result;
      return result;
    });
    print(input.flags, { secret: created.secret, ...credentialRecord(created.row) });
    if (input.flags["json"] !== true) say("copy the secret now: it is shown only once");
  });
}

const listAll = (source: MessageSource, input: Input): Promise<void> =>
  withChanger(input, async ({ db, accountId }) => {
    const rows = (
      await Promise.all(ENVIRONMENTS.map((environment) => listCredentials(db, { accountId, environment }, MAX_UUID, MOST_LISTED)))
    ).flat();
    print(
      input.flags,
      rows.filter((row) => row.source === source).map(credentialRecord),
      ({ id, user_name, environment, revoked_at, last_used_at }) => ({
        id,
        user_name,
        environment,
        status: revoked_at === null ? "active" : "revoked",
        last_used_at,
      }),
    );
  });

async function revoke(source: MessageSource, input: Input): Promise<void> {
  const [, wanted = ""] = input.words;
  const id = decodeId("key", wanted);
  if (id === undefined) throw new UsageError(`name the credential by its id, key_…; godwit ${source}-credentials list lists them`);
  await withChanger(input, async ({ db, changer, accountId }) => {
    for (const environment of ENVIRONMENTS) {
      const owner = { accountId, environment };
      const found = await findCompatible(db, owner, id);
      if (found?.source !== source) continue;
      return print(input.flags, credentialRecord(await db.transaction((tx) => changer.revokeIn(tx, owner, id, cliOrigin()))));
    }
    throw new UsageError(`there is no credential ${wanted}`);
  });
}

function passwordOf(variable: string | undefined): string | undefined {
  if (variable === undefined) return undefined;
  const faults: string[] = [];
  const secret = secretReader(environmentVariables(), faults)(variable);
  if (faults[0] !== undefined) throw new UsageError(faults[0]);
  if (secret === undefined) throw new UsageError(`--password: the variable ${variable} is not set`);
  return secret;
}

function scopesOf(source: MessageSource, text: string | undefined, settings: Settings): readonly Scope[] {
  if (text === undefined) return COMPATIBLE_APIS.find((api) => api.source === source)?.defaultScopes(settings) ?? [];
  const parsed = parseScopes(text);
  if ("unknown" in parsed)
    throw new UsageError(`unknown scope ${parsed.unknown.join(", ")}${didYouMean(parsed.unknown.join(", "), SCOPES)}`);
  return parsed.scopes;
}

type Opened = OpenedDatabase & { changer: CredentialChanger; accountId: Owner["accountId"] };

const withChanger = (input: Input, work: (opened: Opened) => Promise<void>): Promise<void> =>
  withDatabase(input, input.words.join(" "), async (opened) => {
    const { db, clock, config } = opened;
    const { id: accountId } = await chooseAccount(db, textFlag(input.flags, "account"));
    const box = new SecretBox(await secretKeyOf(opened), config.previousSecretKey);
    const gate = new AddressGate(config.webhookAddresses);
    const changer = new CredentialChanger({ db, clock, box, gate, apis: COMPATIBLE_APIS });
    try {
      await work({ ...opened, changer, accountId });
    } catch (error) {
      throw error instanceof Problem ? new UsageError(error.detail) : error;
    }
  });
