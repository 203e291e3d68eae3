/** Opens the setup of one account for a command: its links, senders and routes, with the secret key of the service. */
import { listAccounts } from "../access/queries.ts";
import { readDirectoryKey } from "../access/secret-key.ts";
import { Problem, type Fault } from "../http/problem.ts";
import type { Schema } from "../http/schema.ts";
import { compile } from "../http/validate.ts";
import { Once, type AuditedCall } from "../idempotency/once.ts";
import { cliOrigin } from "../model/origin.ts";
import { SecretBox } from "../lib/secret-box.ts";
import { LinkDirectory } from "../links/directory.ts";
import { simulatorLink } from "../links/link.ts";
import { readOtherLinks } from "../links/link-record.ts";
import { AddressGate } from "../outbound/address-gate.ts";
import { LinkReader } from "../links/stored-link.ts";
import type { SetupContext } from "../links/setup.ts";
import { textFlag, UsageError, type Input } from "./command.ts";
import { say } from "./output.ts";
import { chooseAccount, withDatabase, type OpenedDatabase } from "./with-database.ts";

export type OpenedSetup = OpenedDatabase & { setup: SetupContext; call: AuditedCall };

/** Runs work on the setup of the account of `--account`. A refusal is wrong use of the command. */
export const withSetup = (input: Input, command: string, work: (opened: OpenedSetup) => Promise<void>): Promise<void> =>
  withDatabase(input, command, async (opened) => {
    const { db, clock, config } = opened;
    const { id: accountId } = await chooseAccount(db, textFlag(input.flags, "account"));
    const accounts = new Map((await listAccounts(db)).map((account) => [account.name, account.id]));
    const box = new SecretBox(await secretKeyOf(opened), config.previousSecretKey);
    const gate = new AddressGate(config.webhookAddresses);
    const setup: SetupContext = {
      db,
      clock,
      box,
      gate,
      once: new Once(db, clock, box),
      linkReader: new LinkReader(box, gate),
      linkDirectory: new LinkDirectory(simulatorLink(config.simulatorSpeed), config.plan, accounts),
      // The nodes look at the version of the tables every few seconds.
      changed: async () => undefined,
    };
    const call = {
      credential: { accountId, environment: "live" },
      claim: undefined,
      writeProblem: problemBody,
      origin: cliOrigin,
    } as const;
    try {
      await work({ ...opened, setup, call });
    } catch (error) {
      throw error instanceof Problem ? new UsageError(textOf(error)) : error;
    }
  });

/** Says that a list lacks what the configuration file of the nodes has. */
export async function warnOfOtherLinks({ db, clock, config }: OpenedDatabase): Promise<void> {
  const others = await readOtherLinks(db, [simulatorLink(config.simulatorSpeed), ...config.plan.links], clock.now());
  if (others.length > 0)
    say(`the list is not complete: nodes have the links ${others.join(", ")} of a file; use the --config of the service`);
}

/** All faults of a request, where the detail names one and counts the others. */
const textOf = ({ detail, errors = [] }: Problem): string => (errors.length > 1 ? errors.map(faultText).join("; ") : detail);

const faultText = (fault: Fault): string => `${"pointer" in fault ? fault.pointer.slice(1).replaceAll("/", ".") : ""}: ${fault.detail}`;

const problemBody = (problem: Problem): string => JSON.stringify({ detail: textOf(problem) });

/** Throws with all faults of a request. `more` are those that the schema does not find. */
export function checkRequest(schema: Schema, request: unknown, more: readonly Fault[] = []): void {
  const faults = [...compile(schema, "body")(request), ...more].map(faultText);
  if (faults.length > 0) throw new UsageError(faults.join("; "));
}

/** The record in the response of a write. Throws if the write was refused. */
export function recordIn({ status, body }: { status: number; body: string }): Record<string, unknown> {
  const record = JSON.parse(body) as Record<string, unknown>;
  if (status < 300) return record;
  throw new UsageError(String(record["detail"]));
}

/** Returns the secret key of the nodes. Only the service and signing-keys create one: the user of a command may not be that of the service. */
export async function secretKeyOf({ db, config }: OpenedDatabase, mayCreate = false): Promise<Buffer> {
  const { secretKey, databaseUrl, dataDir } = config;
  if (secretKey === undefined && databaseUrl !== undefined)
    throw new UsageError("GODWIT_SECRET_KEY is needed with DATABASE_URL: set the value of the nodes");
  return secretKey ?? readDirectoryKey(db, dataDir, mayCreate);
}
