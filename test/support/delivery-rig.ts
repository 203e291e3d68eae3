/** Delivery in the test's own process, on a database of its own, with carriers that the test scripts. */
import assert from "node:assert/strict";
import type { Credential } from "../../src/access/authenticate.ts";
import { SCOPES } from "../../src/access/scope.ts";
import { ProviderHosts } from "../../src/delivery/provider-hosts.ts";
import { Delivery } from "../../src/delivery/delivery.ts";
import type { DeliveryWatch } from "../../src/delivery/watch.ts";
import { decodeId, encodeId, newId, NO_ID, type AccountId } from "../../src/lib/id.ts";
import { createLog, type Log } from "../../src/lib/log.ts";
import type { Recipient } from "../../src/lib/phone-number.ts";
import { Acceptor } from "../../src/messages/accept.ts";
import { Composer } from "../../src/messages/compose.ts";
import { SecretBox } from "../../src/lib/secret-box.ts";
import { Templates } from "../../src/templates/find-template.ts";
import type { Handover } from "../../src/messages/handover.ts";
import type { Message } from "../../src/messages/message.ts";
import type { NewMessage } from "../../src/messages/new-message.ts";
import { findMessage } from "../../src/messages/queries.ts";
import type { Status } from "../../src/messages/states.ts";
import type { Provider } from "../../src/providers/provider.ts";
import type { ProviderName } from "../../src/providers/providers.ts";
import type { Link } from "../../src/links/link.ts";
import { LinkChooser, type LinkChoice } from "../../src/links/choose-links.ts";
import { Announcer } from "../../src/storage/announce.ts";
import { DatabaseClock } from "../../src/storage/database-clock.ts";
import { Database } from "../../src/storage/database.ts";
import { migrate } from "../../src/storage/migrate.ts";
import { TIMINGS } from "../../src/timings.ts";
import { atEnd } from "./at-end.ts";
import { LIMIT_MS, until } from "./expect.ts";
import { createDatabase } from "./database.ts";
import { recipientOf } from "./recipient.ts";
import type { Environment } from "../../src/storage/owner.ts";

/** The lane that messages take unless the test says otherwise. */
export const LINK = "first";
export const RECIPIENT = recipientOf("+14155550123");

export const linkTo = (name: string, onUnknown: Link["onUnknown"] = { holdMs: 60_000, policy: "fail" }): Link => ({
  name,
  // Each link has a provider of its own, under its own name.
  provider: name as ProviderName,
  settings: { speed: 1 },
  channels: ["sms", "whatsapp"],
  sender: "+15005550000",
  partHeaderBytes: 6,
  unwilling: { optedOut: new Set(), windowClosed: new Set() },
  onUnknown,
});

/** Every message takes one link, the first of those there are. */
class OneLink extends LinkChooser {
  readonly #links: readonly [Link, ...Link[]];

  constructor(...links: readonly [Link, ...Link[]]) {
    super(links[0]);
    this.#links = links;
  }

  override get links(): readonly Link[] {
    return this.#links;
  }

  override choose(): LinkChoice {
    return { kind: "chosen", links: [this.#links[0]] };
  }
}

/** Nothing finds a place in a process: every message waits in the queue. */
export const queueOnly: Handover = {
  leaseMs: 0,
  reserve: () => false,
  release: () => undefined,
  take: () => undefined,
  queued: () => undefined,
};

/** Nobody waits to be told. */
export const wakeNothing = (): void => undefined;

const silentWatch: DeliveryWatch = {
  submitted: () => undefined,
  attempted: () => undefined,
  advanced: () => undefined,
  received: () => undefined,
  parked: () => undefined,
  inbound: () => undefined,
};

export type DeliveryOptions = {
  node?: string;
  links?: readonly Link[];
  /** A real chooser, in place of one link for all messages. */
  linkChooser?: LinkChooser;
  receiptWaitMs?: number;
  downAfterMs?: number;
  linkLeaseMs?: number;
  pollMs?: number;
  responseTimeoutMs?: number;
  /** Another connection to the same database. */
  db?: Database;
  /** Silent without it. */
  log?: Log;
};

/** An entry of a timeline; `status` is that of the snapshot, null where nothing moved. */
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
  /** The real ones choose the link. */
  linkChooser?: LinkChooser;
};

export class Rig {
  readonly url: string;
  readonly db: Database;
  readonly clock: DatabaseClock;
  readonly accountId = newId("acct", Date.now());
  readonly #stops: (() => Promise<unknown>)[] = [];
  readonly #acceptors: { target: string | LinkChooser; handover: Handover; acceptor: Acceptor }[] = [];
  #statements = 0;
  #closing: Promise<void> | undefined;

  private constructor(url: string, db: Database, clock: DatabaseClock) {
    this.url = url;
    this.db = db;
    this.clock = clock;
  }

  static async open(): Promise<Rig> {
    const url = await createDatabase();
    const db = new Database({ url }, "rig", () => undefined);
    await migrate(db);
    const clock = new DatabaseClock(db);
    await clock.start();
    const rig = new Rig(url, db, clock);
    atEnd(() => rig.close());
    return rig;
  }

  /** Delivery through these carriers, by the names of their links. */
  async deliver(carriers: Readonly<Record<string, Provider<unknown>>>, options: DeliveryOptions = {}): Promise<Delivery> {
    const {
      node = "node-1",
      links,
      receiptWaitMs = 3_600_000,
      responseTimeoutMs = 60_000,
      db = this.db,
      downAfterMs,
      linkLeaseMs = TIMINGS.linkLeaseMs,
      log = createLog("silent").log,
      pollMs = TIMINGS.deliveryPollMs,
    } = options;
    const all = links ?? Object.keys(carriers).map((name) => linkTo(name));
    const announcer = new Announcer(db, node, log);
    this.atEnd(() => announcer.stop());
    const [first = linkTo(LINK), ...others] = all;
    const linkChooser = options.linkChooser ?? new OneLink(first, ...others);
    const shared = { db, clock: this.clock, linkChooser, wakeWebhooks: wakeNothing, receiptWaitMs, watch: silentWatch, log };
    const delivery = new Delivery({
      ...shared,
      node,
      announcer,
      hosts: new ProviderHosts(shared),
      providers: carriers,
      composer: this.#composer(linkChooser),
      box: new SecretBox(Buffer.alloc(32)),
      responseTimeoutMs,
      queueLeaseMs: TIMINGS.queueLeaseMs,
      linkLeaseMs,
      pollMs,
      ...(downAfterMs === undefined ? {} : { downAfterMs }),
    });
    this.atEnd(() => delivery.stop());
    await delivery.start();
    return delivery;
  }

  /** Another connection to the database of this rig. */
  connect(name: string, url = this.url): Database {
    const db = new Database({ url }, name, () => undefined);
    this.atEnd(() => db.close());
    return db;
  }

  /** Done when the rig is closed; the last first. */
  atEnd(stop: () => Promise<unknown>): void {
    this.#stops.push(stop);
  }

  /** Accepts a message as a request does; it waits in the queue unless a handover takes it. */
  async accept(
    fields: Partial<NewMessage> = {},
    { link = LINK, accountId = this.accountId, handover = queueOnly, environment = "test", linkChooser }: AcceptOptions = {},
  ): Promise<Message> {
    const credential: Credential = {
      accountId,
      keyId: NO_ID,
      environment,
      environmentKey: `${accountId.toString("hex")} ${environment}`,
      scopes: new Set(SCOPES),
      tier: { name: "unlimited", limit: null },
      tokenExpiresAtMs: null,
    };
    const request: NewMessage = { recipient: RECIPIENT, channel: "sms", body: "Your code is 123456", ...fields };
    const answer = await this.#acceptor(linkChooser ?? link, handover).accept(request, {
      credential,
      claim: undefined,
      writeProblem: () => "",
    });
    const id = decodeId("msg", (JSON.parse(answer.body) as { id: string }).id);
    assert.ok(id !== undefined);
    return this.message({ accountId, environment, id });
  }

  /** In turns, of as many as the database takes at once without complaint. */
  async acceptMany(count: number, fields: (index: number) => Partial<NewMessage>, options: AcceptOptions = {}): Promise<Message[]> {
    const messages: Message[] = [];
    while (messages.length < count) {
      const from = messages.length;
      const turn = Array.from({ length: Math.min(100, count - from) }, (_, index) => this.accept(fields(from + index), options));
      messages.push(...(await Promise.all(turn)));
    }
    return messages;
  }

  #composer(linkChooser: LinkChooser): Composer {
    return new Composer({ clock: this.clock, linkChooser, templates: new Templates(this.db) });
  }

  #acceptor(target: string | LinkChooser, handover: Handover): Acceptor {
    const known = this.#acceptors.find((each) => each.target === target && each.handover === handover);
    if (known !== undefined) return known.acceptor;
    const acceptor = new Acceptor({
      wakeWebhooks: wakeNothing,
      db: this.db,
      composer: this.#composer(typeof target === "string" ? new OneLink(linkTo(target)) : target),
      handover,
      watch: { committed: () => undefined },
    });
    this.#acceptors.push({ target, handover, acceptor });
    return acceptor;
  }

  /** The message as it is now. */
  async message({ accountId, environment, id }: Pick<Message, "accountId" | "environment" | "id">): Promise<Message> {
    const found = await findMessage(this.db, accountId, environment, id);
    assert.ok(found !== undefined, "the message is not there");
    return found;
  }

  async untilStatus(message: Message, status: Status, timeoutMs = LIMIT_MS): Promise<Message> {
    let seen = "";
    const ask = async (): Promise<Message | undefined> => {
      const now = await this.message(message);
      seen = now.status;
      return now.status === status ? now : undefined;
    };
    return until(`the message to be ${status}`, ask, timeoutMs).catch((error: unknown) => {
      throw new Error(`${String(error)}; it is ${seen}`, { cause: error });
    });
  }

  /** How many messages have that status. */
  async count(status: Status): Promise<number> {
    const [row] = await this.rows<{ count: number }>("select count(*) from messages where status = $1", [status]);
    return row?.count ?? 0;
  }

  async timeline({ id }: Message): Promise<Entry[]> {
    return this.rows<Entry>(
      `select type, sequence, previous_status as previous, record::json ->> 'status' as status, is_ignored as "isIgnored", detail
         from events
        where message_id = $1
        order by id`,
      [id],
    );
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

  /** Makes a message due, as the passing of time would. */
  async makeDue({ id }: Message): Promise<void> {
    await this.rows("update delivery_queue set due_at = now() where message_id = $1", [id]);
  }

  async rows<T>(text: string, values: readonly unknown[] = []): Promise<T[]> {
    return this.db.rows<T>({ name: `rig_${(this.#statements += 1)}`, text, values });
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    for (const stop of this.#stops.toReversed()) await stop();
    this.clock.stop();
    await this.db.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export const publicId = ({ id }: Pick<Message, "id">): string => encodeId("msg", id);
/** `+1415555xxxx`: a recipient for each number. */
export const recipientNo = (index: number): Recipient => recipientOf(`+1415555${String(index).padStart(4, "0")}`);
