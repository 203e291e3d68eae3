/** Delivery in the process of the test, on a new database, with scripted carriers. */
import assert from "node:assert/strict";
import type { Delivery } from "../../src/delivery/delivery.ts";
import { ConcurrencyLimit } from "../../src/lib/concurrency-limit.ts";
import { completeDetail, type StoredDetail } from "../../src/events/detail.ts";
import { decodeId, encodeId, newId, type AccountId } from "../../src/model/id.ts";
import { USUAL_RULES } from "../../src/model/segments.ts";
import type { Acceptor } from "../../src/messages/accept.ts";
import type { Handover } from "../../src/messages/handover.ts";
import type { Message } from "../../src/messages/message.ts";
import type { NewMessage } from "../../src/messages/new-message.ts";
import { findMessage } from "../../src/messages/queries.ts";
import type { Status } from "../../src/messages/states.ts";
import type { Provider } from "../../src/providers/provider.ts";
import type { ProviderName } from "../../src/providers/providers.ts";
import type { Link } from "../../src/links/link.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import { EMPTY_PLAN } from "../../src/links/plan.ts";
import type { DatabaseClock } from "../../src/database/database-clock.ts";
import { Database } from "../../src/database/database.ts";
import { atEnd } from "./at-end.ts";
import { acceptorOf, closeStorage, credentialOf, deliveryOf, openStorage, queueOnly, type DeliveryOptions } from "./engine.ts";
import { LIMIT_MS, until } from "./expect.ts";
import { CONNECT_TIMEOUT_MS, createDatabase } from "./database.ts";
import { RECIPIENT } from "./recipient.ts";
import { STATUS_AFTER } from "./tables.ts";
import type { Environment } from "../../src/model/owner.ts";

/** The default link of messages. */
export const LINK = "first";

export const linkTo = (name: string, onUnknown: Link["onUnknown"] = { holdMs: 60_000, policy: "fail" }): Link => ({
  name,
  // Each link has a provider with the name of the link.
  provider: name as ProviderName,
  settings: { speed: 1 },
  channels: ["sms", "whatsapp"],
  sender: "+15005550000",
  country: null,
  source: "file",
  accountId: null,
  inboundAccount: null,
  segmentRules: USUAL_RULES,
  unwilling: { optedOut: new Set(), windowClosed: new Set() },
  onUnknown,
});

/** Chooses the first link for every message of `test`, and among all of these in `live`. */
const directoryOf = (first: Link, links: readonly Link[]): LinkDirectory => new LinkDirectory(first, { ...EMPTY_PLAN, links });

export type RigDeliveryOptions = Omit<DeliveryOptions, "providers" | "linkDirectory"> & {
  links?: readonly Link[];
  /** A real chooser, in place of one link for all messages. */
  linkDirectory?: LinkDirectory;
  /** Another connection to the same database. */
  db?: Database;
};

/** An entry of a timeline. `status` is that of the snapshot, or null if the entry is not a transition. */
export type Entry = {
  type: string;
  sequence: number;
  previous: string | null;
  status: string | null;
  isIgnored: boolean;
  detail: { attempt?: Record<string, unknown>; receipt?: Record<string, unknown>; reason?: string } | null;
};

export type QueueRow = { link: string; state: number; priority: number; due_in_ms: number; due_at_ms: number };

export type AcceptOptions = {
  link?: string;
  accountId?: AccountId;
  handover?: Handover;
  environment?: Environment;
  /** A real chooser, in place of one link for all messages. */
  linkDirectory?: LinkDirectory;
};

export class Rig {
  readonly url: string;
  readonly db: Database;
  readonly clock: DatabaseClock;
  readonly accountId = newId("acct", Date.now());
  readonly #stops: (() => Promise<unknown>)[] = [];
  readonly #acceptors: { target: string | LinkDirectory; handover: Handover; acceptor: Acceptor }[] = [];
  // Delivery needs connections of the pool as well.
  readonly #reads = new ConcurrencyLimit(4);
  #statements = 0;
  #closing: Promise<void> | undefined;

  private constructor(url: string, db: Database, clock: DatabaseClock) {
    this.url = url;
    this.db = db;
    this.clock = clock;
  }

  /** On a new database, or on the given one. */
  static async open(given?: string): Promise<Rig> {
    const url = given ?? (await createDatabase());
    const { db, clock } = await openStorage({ url }, "rig");
    const rig = new Rig(url, db, clock);
    atEnd(() => rig.close());
    return rig;
  }

  /** Starts delivery through these carriers, which are given by the names of their links. */
  async deliver(carriers: Readonly<Record<string, Provider<unknown>>>, options: RigDeliveryOptions = {}): Promise<Delivery> {
    const { links, db = this.db, linkDirectory, ...rest } = options;
    const [first = linkTo(LINK), ...others] = links ?? Object.keys(carriers).map((name) => linkTo(name));
    const { delivery, announcer } = deliveryOf(
      { db, clock: this.clock },
      { ...rest, providers: carriers, linkDirectory: linkDirectory ?? directoryOf(first, others) },
    );
    this.atEnd(() => announcer.stop());
    this.atEnd(() => delivery.stop());
    await delivery.start();
    return delivery;
  }

  /** Another connection to the database of this rig. */
  connect(name: string, url = this.url): Database {
    const db = new Database({ url, connectTimeoutMs: CONNECT_TIMEOUT_MS }, name, () => undefined);
    this.atEnd(() => db.close());
    return db;
  }

  /** Registers a function that runs when the rig is closed, in reverse order. */
  atEnd(stop: () => Promise<unknown>): void {
    this.#stops.push(stop);
  }

  /** Accepts a message as a request does. The message waits in the queue unless a handover takes it. */
  async accept(
    fields: Partial<NewMessage> = {},
    { link = LINK, accountId = this.accountId, handover = queueOnly, environment = "test", linkDirectory }: AcceptOptions = {},
  ): Promise<Message> {
    const request: NewMessage = { recipient: RECIPIENT, channel: "sms", body: "Your code is 123456", ...fields };
    const response = await this.#acceptor(linkDirectory ?? link, handover).accept(request, {
      credential: credentialOf(accountId, environment),
      claim: undefined,
      writeProblem: () => "",
    });
    const id = decodeId("msg", (JSON.parse(response.body) as { id: string }).id);
    assert.ok(id !== undefined);
    return this.message({ accountId, environment, id });
  }

  /** Accepts messages in groups of 100, so that the requests do not wait too long for connections to the database. */
  async acceptMany(count: number, fields: (index: number) => Partial<NewMessage>, options: AcceptOptions = {}): Promise<Message[]> {
    const messages: Message[] = [];
    while (messages.length < count) {
      const from = messages.length;
      const group = Array.from({ length: Math.min(100, count - from) }, (_, index) => this.accept(fields(from + index), options));
      messages.push(...(await Promise.all(group)));
    }
    return messages;
  }

  #acceptor(target: string | LinkDirectory, handover: Handover): Acceptor {
    const known = this.#acceptors.find((each) => each.target === target && each.handover === handover);
    if (known !== undefined) return known.acceptor;
    const acceptor = acceptorOf(this, typeof target === "string" ? directoryOf(linkTo(target), [linkTo(target)]) : target, handover);
    this.#acceptors.push({ target, handover, acceptor });
    return acceptor;
  }

  /** The current state of the message. */
  async message({ accountId, environment, id }: Pick<Message, "accountId" | "environment" | "id">): Promise<Message> {
    const found = await this.#reads.run(() => findMessage(this.db, accountId, environment, id));
    assert.ok(found !== undefined, "the message does not exist");
    return found;
  }

  async untilStatus(message: Message, status: Status, timeoutMs = LIMIT_MS): Promise<Message> {
    let now = message;
    const look = async (): Promise<Message | undefined> => {
      now = await this.message(message);
      return now.status === status ? now : undefined;
    };
    return until(() => `the message to be ${status}; its status is ${now.status}`, look, timeoutMs);
  }

  /** The number of messages with the status. */
  async count(status: Status): Promise<number> {
    const [row] = await this.rows<{ count: number }>("select count(*) from messages where status = $1", [status]);
    return row?.count ?? 0;
  }

  async timeline({ id }: Message): Promise<Entry[]> {
    const rows = await this.rows<Omit<Entry, "detail"> & { detail: StoredDetail | null; record: string | null }>(
      `select type, sequence, previous_status as previous, ${STATUS_AFTER} as status, is_ignored as "isIgnored", detail, record
         from events e
        where message_id = $1
        order by id`,
      [id],
    );
    return rows.map(({ record, detail, ...entry }) => ({ ...entry, detail: detail && completeDetail(detail, record) }));
  }

  async queueRow({ id }: Message): Promise<QueueRow | undefined> {
    const [row] = await this.rows<QueueRow>(
      `select link, state, priority, (extract(epoch from due_at - now()) * 1000)::float8 as due_in_ms,
              (extract(epoch from due_at) * 1000)::float8 as due_at_ms
         from delivery_queue
        where message_id = $1`,
      [id],
    );
    return row;
  }

  /** Makes a message due now. */
  async makeDue({ id }: Message): Promise<void> {
    await this.rows("update delivery_queue set due_at = now() where message_id = $1", [id]);
  }

  async rows<T>(text: string, values: readonly unknown[] = []): Promise<T[]> {
    return this.#reads.run(() => this.db.rows<T>({ name: `rig_${(this.#statements += 1)}`, text, values }));
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    for (const stop of this.#stops.toReversed()) await stop();
    await closeStorage(this);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export const publicId = ({ id }: Pick<Message, "id">): string => encodeId("msg", id);
