/** The operations of clients on the links of their account. Each write is one transaction with its idempotency key, its stored response and
 *  its entry in the audit log. */
import { Problem } from "../http/problem.ts";
import type { AuditedCall, Executed, Replay, WriteResponse } from "../idempotency/once.ts";
import { decodeId, encodeId, newId } from "../lib/id.ts";
import { actorText } from "../lib/origin.ts";
import { PAUSED_BY_REQUEST } from "../links/link-record.ts";
import type { Queryable, Tx } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";
import { addressFault, readCreatedLink, settingFaults, splitSecrets, type EditLink, type NewLink } from "./link-definition.ts";
import { linkRecordOf, readStoredLinks, toCreated, type StoredLink } from "./link-record.ts";
import { sealSecrets } from "./link-secrets.ts";
import { deleteLink, deletePause, lockSetup, readRoutes, writeLink, writePause } from "./queries.ts";
import { limitReached, requireLive, type Setup } from "./setup.ts";

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
      const edited = this.#edited(link, fields);
      const refusal = this.#findRefusal(edited, others);
      if (refusal !== undefined) return refusal;
      await this.#store(tx, edited);
      await this.#pause(tx, call, text, paused ?? null);
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
      const routes = await readRoutes(tx, accountId);
      const naming = routes.find(({ definition }) => (definition as { links: string[] }).links.includes(text));
      if (naming !== undefined)
        throw new Problem("link_in_use", { detail: `the route ${encodeId("rte", naming.id)} names it: change or delete the route first` });
      await deleteLink(tx, accountId, link.id);
      await deletePause(tx, text);
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
  #edited(link: StoredLink, { name, settings, ...rest }: Omit<EditLink, "paused">): StoredLink {
    const { definition, secrets } = link;
    const given = settings ?? {};
    const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
    const faults = settingFaults({ provider: definition.provider, settings: present });
    if (faults.length > 0) throw new Problem("invalid_request_payload", { errors: faults });
    const removed = new Set(Object.keys(given).filter((key) => given[key] === null));
    const { plain, secrets: newSecrets } = splitSecrets(definition.provider, present);
    const kept = <T>(fields: Readonly<Record<string, T>>): Record<string, T> =>
      Object.fromEntries(Object.entries(fields).filter(([key]) => !removed.has(key)));
    return {
      ...link,
      name: name ?? link.name,
      definition: { ...definition, ...rest, settings: { ...kept(definition.settings), ...plain } },
      secrets: { ...kept(secrets), ...newSecrets },
      updated_at: new Date(this.#setup.now()),
    };
  }

  #findRefusal(link: StoredLink, others: readonly StoredLink[]): Problem | undefined {
    const { network } = this.#setup;
    const read = readCreatedLink(toCreated(link), network);
    // A fault of the request is not stored with its idempotency key.
    if ("faults" in read) throw new Problem("invalid_request_payload", { errors: read.faults });
    const fault = addressFault(read.link, network);
    if (fault !== undefined) return new Problem("link_address_refused", { errors: [fault] });
    if (others.every(({ name }) => name !== link.name)) return undefined;
    return new Problem("already_exists", { errors: [{ pointer: "/name", code: "taken", detail: "another link has it" }] });
  }

  #store(tx: Tx, link: StoredLink): Promise<void> {
    return writeLink(tx, { ...link, secrets: sealSecrets(this.#setup.box, link.id, link.secrets) });
  }

  async #pause(tx: Tx, call: AuditedCall, link: string, isPaused: boolean | null): Promise<void> {
    if (isPaused === null) return;
    const pausedBy = actorText(call.origin().actor);
    const isChanged = isPaused
      ? await writePause(tx, { link, reason: PAUSED_BY_REQUEST, ends_at: null, paused_by: pausedBy })
      : await deletePause(tx, link);
    const action = isPaused ? "link.paused" : "link.resumed";
    if (isChanged) await this.#setup.record(tx, call, { action, target: { type: "link", id: link } });
  }

  async #shown(tx: Tx, link: StoredLink, response: Pick<WriteResponse, "status" | "location">): Promise<WriteResponse> {
    return { ...response, body: JSON.stringify(await linkRecordOf(this.#setup, tx, link)), eventId: null };
  }
}
