/** The operations of clients on the links of their account. Each write is one transaction with its idempotency key, its stored response and
 *  its entry in the audit log. */
import { Problem } from "../http/problem.ts";
import type { AuditedCall, Executed, Replay, WriteResponse } from "../idempotency/once.ts";
import { decodeId, encodeId, newId, type AccountId } from "../model/id.ts";
import { actorText } from "../model/origin.ts";
import { PAUSED_BY_OPERATOR, PAUSED_BY_REQUEST } from "./link-record.ts";

import type { Queryable, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { linkRecordOf } from "./account-links.ts";
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
import { sealSecrets } from "./link-secrets.ts";
import { deleteCursor } from "./queries.ts";
import { deleteLink, deletePause, lockSetup, readPauses, readRoutes, writeLink, writePause } from "./setup-queries.ts";
import { limitReached, requireLive, type Setup } from "./setup.ts";
import { sendingChannels, readStoredLinks, toCreated, type StoredLink } from "./stored-link.ts";

// A connection to a carrier is open for each, on one node at least.
const MAX_LINKS = 20;

export class LinkChanger {
  readonly #setup: Setup;

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  async create(call: AuditedCall, { name, settings, ...rest }: NewLink): Promise<Executed | Replay> {
    const { credential, origin } = call;
    requireLive(credential);
    return this.#setup.write(call, async (tx) => {
      const others = await readStoredLinks(tx, this.#setup.box, credential.accountId);
      if (others.length >= MAX_LINKS) return limitReached(`an account may have ${MAX_LINKS} links`);
      const nowMs = this.#setup.now();
      const { plain, secrets } = splitSecrets(rest.provider, settings);
      const link: StoredLink = {
        account_id: credential.accountId,
        id: newId("lnk", nowMs),
        name,
        definition: { ...rest, settings: plain },
        secrets,
        updated_at: new Date(nowMs),
        created_by: actorText(origin().actor),
      };
      const refusal = this.#findRefusal(link, others);
      if (refusal !== undefined) return refusal;
      await this.#store(tx, link);
      const id = encodeId("lnk", link.id);
      const changes = { name, provider: rest.provider, ...(rest.carrier ? { carrier: rest.carrier } : {}) };
      await this.#setup.record(tx, call, { action: "link.created", target: { type: "link", id }, changes });
      return this.#shown(tx, link, { status: 201, location: `/v1/links/${id}` });
    });
  }

  edit(call: AuditedCall, text: string, request: EditLink): Promise<Executed | Replay> {
    return this.#setup.write(call, async (tx) => {
      const { link, others } = await this.#find(tx, call.credential, text);
      const { paused, ...fields } = request;
      const { edited, newSecrets } = this.#edited(link, fields);
      const refusal = this.#findRefusal(edited, others) ?? (await this.#setPaused(tx, call, text, paused ?? null));
      if (refusal !== undefined) return refusal;
      this.#requireSecrets(link, edited, newSecrets);
      if (sendingChannels(edited.definition).length < sendingChannels(link.definition).length)
        await requireUnrouted(tx, call.credential.accountId, text);
      await this.#store(tx, edited);
      // The names only: the values may be secrets or numbers.
      const named = [...Object.keys(fields), ...Object.keys(fields.settings ?? {}).map((key) => `settings.${key}`)];
      const changes = { fields: named.filter((field) => field !== "settings") };
      if (changes.fields.length > 0)
        await this.#setup.record(tx, call, { action: "link.changed", target: { type: "link", id: text }, changes });
      return this.#shown(tx, edited, { status: 200, location: null });
    });
  }

  /** Deletes a link with its senders. */
  delete(call: AuditedCall, text: string): Promise<void> {
    return this.#setup.change(async (tx) => {
      const { accountId } = call.credential;
      await lockSetup(tx, accountId);
      const { link } = await this.#find(tx, call.credential, text);
      await requireUnrouted(tx, accountId, text);
      await deleteLink(tx, accountId, link.id);
      await deletePause(tx, text);
      await deleteCursor(tx, text);
      await this.#setup.record(tx, call, { action: "link.deleted", target: { type: "link", id: text }, changes: { name: link.name } });
    });
  }

  /** Finds a link of the account, with its secrets. */
  async find(db: Queryable, owner: Owner, text: string): Promise<StoredLink> {
    return (await this.#find(db, owner, text)).link;
  }

  async #find(db: Queryable, owner: Owner, text: string): Promise<{ link: StoredLink; others: readonly StoredLink[] }> {
    const id = owner.environment === "live" ? decodeId("lnk", text) : undefined;
    const all = id === undefined ? [] : await readStoredLinks(db, this.#setup.box, owner.accountId);
    const link = all.find((each) => id !== undefined && each.id.equals(id));
    if (link === undefined) throw this.#setup.missing(owner, text, "link");
    return { link, others: all.filter((each) => each !== link) };
  }

  /** The link after a change. Null removes a setting. */
  #edited(link: StoredLink, { name, settings, ...rest }: Omit<EditLink, "paused">): { edited: StoredLink; newSecrets: LinkSecrets } {
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
    const { row: _, ...fields } = link;
    const edited = {
      ...fields,
      name: name ?? link.name,
      definition: { ...definition, ...rest, settings: { ...withoutRemoved(definition.settings, given), ...plain } },
      secrets: { ...withoutRemoved(secrets, table ?? given), ...newSecrets },
      updated_at: new Date(this.#setup.now()),
    };
    return { edited, newSecrets };
  }

  /** A change of the address needs the secrets again: a key that may change a link must not be able to send its secrets to another host. */
  #requireSecrets(before: StoredLink, after: StoredLink, newSecrets: LinkSecrets): void {
    const [old, edited] = [before, after].map((each) => readCreatedLink(toCreated(each), this.#setup.gate));
    if (old?.kind === "read" && edited?.kind === "read" && hasSameTargets(old.link, edited.link)) return;
    const missing = Object.keys(after.secrets).filter((secret) => newSecrets[secret] === undefined);
    if (missing.length === 0) return;
    const folder = after.definition.provider === "http" ? "/settings/secrets" : "/settings";
    const detail = "is required again, because the address changes";
    throw new Problem("invalid_request_payload", {
      errors: missing.map((secret) => ({ pointer: `${folder}/${secret}`, code: "required", detail })),
    });
  }

  #findRefusal(link: StoredLink, others: readonly StoredLink[]): Problem | undefined {
    const { gate } = this.#setup;
    const read = readCreatedLink(toCreated(link), gate);
    // A fault of the request is not stored with its idempotency key.
    if (read.kind === "faulty") throw new Problem("invalid_request_payload", { errors: read.faults });
    if (read.kind === "refused") return new Problem("link_address_refused", { errors: [read.fault] });
    if (others.every(({ name }) => name !== link.name)) return undefined;
    return new Problem("already_exists", {
      errors: [{ pointer: "/name", code: "taken", detail: "another link of the account has this name" }],
    });
  }

  #store(tx: Tx, link: StoredLink): Promise<void> {
    return writeLink(tx, { ...link, secrets: sealSecrets(this.#setup.box, link.id, link.secrets) });
  }

  async #setPaused(tx: Tx, call: AuditedCall, link: string, isPaused: boolean | null): Promise<Problem | undefined> {
    if (isPaused === null) return undefined;
    const pause = (await readPauses(tx, this.#setup.now())).find((each) => each.link === link);
    if (!isPaused && pause?.reason === PAUSED_BY_OPERATOR) return new Problem("paused_by_operator");
    const pausedBy = actorText(call.origin().actor);
    const isChanged = isPaused
      ? await writePause(tx, { link, reason: PAUSED_BY_REQUEST, ends_at: null, paused_by: pausedBy })
      : await deletePause(tx, link);
    const action = isPaused ? "link.paused" : "link.resumed";
    if (isChanged) await this.#setup.record(tx, call, { action, target: { type: "link", id: link } });
    return undefined;
  }

  async #shown(tx: Tx, link: StoredLink, response: Pick<WriteResponse, "status" | "location">): Promise<WriteResponse> {
    return { ...response, body: JSON.stringify(await linkRecordOf(this.#setup, tx, link)), eventId: null };
  }
}

/** A link that a route names must exist, and must send. */
async function requireUnrouted(tx: Tx, accountId: AccountId, link: string): Promise<void> {
  const routes = await readRoutes(tx, accountId);
  const naming = routes.find(({ definition }) => (definition as { links: string[] }).links.includes(link));
  if (naming !== undefined)
    throw new Problem("link_in_use", { detail: `the route ${encodeId("rte", naming.id)} uses it: change or delete the route first` });
}

type Fields<T = unknown> = Readonly<Record<string, T>>;

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

const withoutNull = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** The fields that a change does not set to null. */
const withoutRemoved = <T>(fields: Fields<T>, change: Fields): Fields<T> =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => change[key] !== null));
