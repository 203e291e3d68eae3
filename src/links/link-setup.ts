/** The links that an account has created: records and changes. */
import { Problem } from "../http/problem.ts";
import { isObject } from "../providers/carrier-fields.ts";
import { encodeId, type AccountId } from "../model/id.ts";
import type { Tx } from "../database/database.ts";
import {
  hasSameTargets,
  readCreatedLink,
  settingFaults,
  splitSecrets,
  unknownSettings,
  type EditLink,
  type LinkSecrets,
  type NewLink,
} from "./link-definition.ts";
import { listLinksFor, type CreatedDetails, type LinkRecord } from "./link-record.ts";
import { deleteCursor } from "./queries.ts";
import { pauseByRequest, readPauses, writePause } from "./pauses.ts";
import { deleteLink, deletePause } from "./setup-queries.ts";
import { recordSetup, shownStamps, Resource, type SetupContext, type SetupWrite } from "./setup.ts";
import { readStoredRoutes } from "./stored-rules.ts";
import { readStoredLinks, sendingChannels, writeStoredLink, type StoredLink } from "./stored-link.ts";

export const LINKS = new Resource<StoredLink, LinkRecord, NewLink, EditLink>({
  noun: "link",
  prefix: "lnk",
  // A connection to a carrier is open for each, on one node at least.
  max: 20,

  async listFile({ db, clock, linkDirectory }, owner) {
    const links = linkDirectory.current.linksFor(owner).filter(({ source }) => source === "file");
    const nowMs = clock.now();
    return listLinksFor(owner, db, links, { nowMs, details: new Map(), pauses: await readPauses(db, nowMs) });
  },

  readRows: (db, accountId, { box }) => readStoredLinks(db, box, accountId),

  async records(rows, db, { linkReader, clock }) {
    const [first] = rows;
    if (first === undefined) return [];
    const usable = rows.map((row) => linkReader.read(row));
    const nowMs = clock.now();
    const pauses = await readPauses(db, nowMs);
    for (const { link, pause } of usable) if (pause !== undefined) pauses.set(link.name, pause);
    const details = new Map(rows.map((row) => [encodeId("lnk", row.id) as string, detailsOf(row)]));
    const links = usable.map(({ link }) => link);
    return listLinksFor({ accountId: first.account_id, environment: "live" }, db, links, { nowMs, details, pauses });
  },

  async create(write, { name, settings, ...rest }, others) {
    const { plain, secrets } = splitSecrets(rest.provider, settings);
    const row = { ...write.stamps, name, definition: { ...rest, settings: plain }, secrets, revision: "" };
    const changes = { name, provider: rest.provider, ...(rest.carrier ? { carrier: rest.carrier } : {}) };
    return findRefusal(write.context, row, others) ?? { row, changes };
  },

  async edit(write, { paused, ...fields }, { row: link, others }) {
    const { context, tx, call } = write;
    const { row, newSecrets } = editedLink(link, fields);
    const id = encodeId("lnk", link.id);
    const refusal = findRefusal(context, row, others) ?? (await setPausedByRequest(write, id, paused ?? null));
    if (refusal !== undefined) return refusal;
    requireSecrets(context, { before: link, after: row, newSecrets });
    if (sendingChannels(row.definition).length < sendingChannels(link.definition).length)
      await requireUnrouted(tx, call.credential.accountId, id);
    const named = [...Object.keys(fields), ...Object.keys(fields.settings ?? {}).map((key) => `settings.${key}`)];
    return { row, fields: named.filter((field) => field !== "settings") };
  },

  write: (tx, row, { box }) => writeStoredLink(tx, box, row),

  /** Deletes a link with its senders. */
  async delete(tx, row) {
    const id = encodeId("lnk", row.id);
    await requireUnrouted(tx, row.account_id, id);
    await deleteLink(tx, row);
    await deletePause(tx, id);
    await deleteCursor(tx, id);
    return { name: row.name };
  },
});

const detailsOf = (row: StoredLink): CreatedDetails => ({
  name: row.name,
  carrier: row.definition.carrier ?? null,
  prices: row.definition.prices ?? null,
  settings: row.definition.settings,
  secrets: Object.keys(row.secrets).toSorted(),
  ...shownStamps(row),
});

/** The link after a change. Null removes a setting. */
function editedLink(link: StoredLink, { name, settings, ...rest }: Omit<EditLink, "paused">): { row: StoredLink; newSecrets: LinkSecrets } {
  const { definition, secrets } = link;
  const given = settings ?? {};
  // The secrets of an HTTP carrier are in a table of their own.
  const table = definition.provider === "http" && isObject(given["secrets"]) ? given["secrets"] : undefined;
  const present = { ...withoutNull(given), ...(table && { secrets: withoutNull(table) }) };
  const faults = [
    ...settingFaults({ provider: definition.provider, settings: present }),
    ...unknownSettings(
      definition.provider,
      Object.keys(given).filter((key) => given[key] === null),
    ),
  ];
  if (faults.length > 0) throw new Problem("invalid_request_payload", { errors: faults });
  const { plain, secrets: newSecrets } = splitSecrets(definition.provider, present);
  const row = {
    ...link,
    name: name ?? link.name,
    definition: { ...definition, ...rest, settings: { ...withoutRemoved(definition.settings, given), ...plain } },
    secrets: { ...withoutRemoved(secrets, table ?? given), ...newSecrets },
    revision: "",
  };
  return { row, newSecrets };
}

type Edited = { before: StoredLink; after: StoredLink; newSecrets: LinkSecrets };

/** A change of the address needs the secrets again: a key that may change a link must not be able to send its secrets to another host. */
function requireSecrets({ gate }: SetupContext, { before, after, newSecrets }: Edited): void {
  const [old, edited] = [before, after].map((each) => readCreatedLink(each, gate));
  if (old?.kind === "read" && edited?.kind === "read" && hasSameTargets(old.link, edited.link)) return;
  const missing = Object.keys(after.secrets).filter((secret) => newSecrets[secret] === undefined);
  if (missing.length === 0) return;
  const folder = after.definition.provider === "http" ? "/settings/secrets" : "/settings";
  const detail = "is required again, because the address changes";
  throw new Problem("invalid_request_payload", {
    errors: missing.map((secret) => ({ pointer: `${folder}/${secret}`, code: "required", detail })),
  });
}

function findRefusal({ gate }: SetupContext, link: StoredLink, others: readonly StoredLink[]): Problem | undefined {
  const read = readCreatedLink(link, gate);
  // A fault of the request is not stored with its idempotency key.
  if (read.kind === "faulty") throw new Problem("invalid_request_payload", { errors: read.faults });
  if (read.kind === "refused") return new Problem("link_address_refused", { errors: [read.fault] });
  if (others.every(({ name }) => name !== link.name)) return undefined;
  return new Problem("already_exists", {
    errors: [{ pointer: "/name", code: "taken", detail: "another link of the account has this name" }],
  });
}

async function setPausedByRequest({ context, tx, call }: SetupWrite, link: string, isPaused: boolean | null): Promise<Problem | undefined> {
  if (isPaused === null) return undefined;
  const pause = (await readPauses(tx, context.clock.now())).get(link);
  if (!isPaused && pause?.kind === "operator") return new Problem("paused_by_operator");
  const isChanged = await (isPaused ? writePause(tx, link, pauseByRequest(call.origin())) : deletePause(tx, link));
  const action = isPaused ? "link.paused" : "link.resumed";
  if (isChanged) await recordSetup(context, tx, call, { action, target: { type: "link", id: link } });
  return undefined;
}

/** A link that a route names must exist, and must send. */
async function requireUnrouted(tx: Tx, accountId: AccountId, link: string): Promise<void> {
  const naming = (await readStoredRoutes(tx, accountId)).find(({ definition }) => definition.links.includes(link));
  if (naming !== undefined)
    throw new Problem("link_in_use", { detail: `the route ${encodeId("rte", naming.id)} uses it: change or delete the route first` });
}

type Fields<T = unknown> = Readonly<Record<string, T>>;

const withoutNull = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** The fields that a change does not set to null. */
const withoutRemoved = <T>(fields: Fields<T>, change: Fields): Fields<T> =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => change[key] !== null));
