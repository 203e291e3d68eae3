/** Checks the promises about the carriers: the messages that they got and when, and the receipts that a node acknowledged. */
import type { Submission } from "./carrier-records.ts";
import { acceptedIds, type Clients } from "./clients.ts";
import type { Cluster } from "./cluster.ts";
import type { Held } from "./database.ts";
import type { Evidence } from "./evidence.ts";
import { publicId } from "./verify-database.ts";
import { verdict, type Verdict } from "./verdict.ts";

const TAKEN = new Set(["sent", "delivered", "read", "undelivered"]);
// The nodes compare with the clock of the database, whose error is part of a second.
const EARLY_MS = 1_000;
// A shorter lock says nothing on a slow machine, and fewer messages may all have met another fault.
const LOCK_LEAST_MS = 8_000;
const BESIDE_LOCK_LEAST = 5;

export class CarrierEvidence {
  /** Figures without a limit that a slow machine could keep. */
  readonly figures: Record<string, number> = {};
  readonly #cluster: Cluster;
  readonly #clients: Clients;
  readonly #messages: Evidence["messages"];
  readonly #idByReference: ReadonlyMap<string, string>;
  /** The submissions that a carrier took, by message. */
  readonly #taken: ReadonlyMap<string, readonly Submission[]>;

  constructor(cluster: Cluster, clients: Clients, { messages }: Evidence) {
    this.#cluster = cluster;
    this.#clients = clients;
    this.#messages = messages;
    this.#idByReference = new Map(messages.values().map(({ id, reference }) => [reference, id]));
    const taken = cluster.carrier.submissions.filter(({ outcome }) => outcome === "accepted" || outcome === "dropped");
    this.#taken = Map.groupBy(taken, (each) => this.#idOf(each));
  }

  /** The id of a message. A carrier with SMPP knows only its client reference. */
  #idOf({ id }: { id: string }): string {
    return this.#idByReference.get(id) ?? id;
  }

  checkSubmissions(): Verdict[] {
    const { requests, cancellations } = this.#clients;
    const messages = this.#messages;
    const taken = this.#taken;
    const scheduled = requests.filter(({ sendAtMs }) => sendAtMs !== undefined);
    return [
      verdict("no message is at a carrier twice", taken, ([id, all]) => (all.length === 1 ? undefined : `${id}: ${all.length} times`)),
      verdict("a carrier gets only accepted messages", taken.keys(), (id) => (messages.has(id) ? undefined : id)),
      verdict(
        "a message that is sent is at a carrier",
        messages.values().filter(({ status }) => TAKEN.has(status)),
        ({ id }) => (taken.has(id) ? undefined : id),
      ),
      verdict(
        "a canceled message is not at a carrier",
        cancellations.filter(({ isCanceled }) => isCanceled),
        ({ id }) => (taken.has(id) || messages.get(id)?.status !== "canceled" ? `${id} is ${messages.get(id)?.status}` : undefined),
      ),
      verdict("a scheduled message is not sent early", scheduled, (request) => {
        const early = acceptedIds(request).flatMap((id) => taken.get(id) ?? []);
        const byMs = (request.sendAtMs ?? 0) - EARLY_MS - (early[0]?.atMs ?? Infinity);
        return byMs > 0 ? `${early.map((each) => this.#idOf(each)).join()}: ${Math.round(byMs + EARLY_MS)} ms early` : undefined;
      }),
    ];
  }

  /** A message has the status of its highest acknowledged receipt. A message that failed with an unknown outcome becomes delivered by a
   *  receipt, and not undelivered. */
  checkReceipts(): Verdict {
    const byId = Map.groupBy(this.#cluster.carrier.acknowledged, (each) => this.#idOf(each));
    let uncertain = 0;
    const checked = verdict("no acknowledged receipt is lost", byId, ([id, receipts]) => {
      const rank = ["delivered", "undelivered", "sent"].find((status) => receipts.some((receipt) => receipt.status === status));
      const { status, errorCode } = this.#messages.get(id) ?? {};
      const isRight = rank === "sent" || rank === status || (rank === "undelivered" && errorCode === "outcome_unknown");
      if (isRight) return undefined;
      if (receipts.every(({ isNamed }) => !isNamed) && this.#isUncertain(id)) {
        uncertain += 1;
        return undefined;
      }
      return `${id} is ${status} ${errorCode}, the receipt says ${rank}`;
    });
    this.figures["receipts that name no certain message"] = uncertain;
    return checked;
  }

  /** Whether a receipt that names only the phone cannot be matched (docs/smpp.md): the response was lost, and there are other messages to the
   *  phone, or several segments. */
  #isUncertain(id: string): boolean {
    const { errorCode, recipient, segments } = this.#messages.get(id) ?? {};
    const isAlone = this.#messages.values().every((each) => each.id === id || each.recipient !== recipient);
    return errorCode === "outcome_unknown" && (!isAlone || segments !== 1);
  }

  /** Each process that is killed or frozen may leave one message that was about to leave. */
  checkUnknown(attempted: readonly string[]): Verdict {
    const { carrier, nodes } = this.#cluster;
    const failed = this.#messages.values().filter(({ errorCode }) => errorCode === "outcome_unknown");
    const unknown = new Set([...attempted, ...failed.map(({ id }) => id)]);
    const seen = new Set(carrier.submissions.map((each) => this.#idOf(each)));
    const unseen = [...unknown].filter((id) => !seen.has(id));
    const allowed = nodes.reduce((sum, { interruptions }) => sum + interruptions, 0);
    this.figures["messages called unknown"] = unknown.size;
    this.figures["messages called unknown, not seen by a carrier"] = unseen.length;
    this.figures["processes killed or frozen"] = allowed;
    this.figures["processes killed"] = nodes.reduce((sum, { kills }) => sum + kills, 0);
    return {
      promise: "an unknown message was at a carrier, but one per kill",
      checked: unknown.size,
      violations: unseen.slice(allowed),
    };
  }

  /** While one message is locked, some of the others that are accepted in the first half of that time leave before it ends. The longest time
   *  that one of them waited is a figure, which also contains the effect of other faults. */
  checkLocks(locks: readonly Held[]): Verdict {
    const locked = new Set(locks.map(({ id }) => publicId("msg", id)));
    // A message that was refused may come again after seconds.
    const firstMs = new Map(this.#cluster.carrier.submissions.toReversed().map((each) => [this.#idOf(each), each.atMs]));
    const waits = this.#clients.requests
      .filter(({ sendAtMs }) => sendAtMs === undefined)
      .flatMap((request) => acceptedIds(request).map((id) => ({ id, acceptedMs: request.repliedAtMs ?? 0, atMs: firstMs.get(id) })))
      .flatMap(({ id, acceptedMs, atMs }) => (atMs === undefined || locked.has(id) ? [] : [{ acceptedMs, atMs }]));
    let longestMs = 0;
    const checked = verdict("messages leave while another one is locked", locks, ({ fromMs, untilMs }) => {
      const beside = waits.filter(({ acceptedMs }) => acceptedMs > fromMs && acceptedMs < untilMs);
      longestMs = Math.max(longestMs, ...beside.map(({ acceptedMs, atMs }) => atMs - acceptedMs));
      const early = beside.filter(({ acceptedMs }) => acceptedMs < (fromMs + untilMs) / 2);
      if (untilMs - fromMs < LOCK_LEAST_MS || early.length < BESIDE_LOCK_LEAST || early.some(({ atMs }) => atMs < untilMs))
        return undefined;
      return `none of ${early.length} left in the ${untilMs - fromMs} ms from ${new Date(fromMs).toISOString()}`;
    });
    this.figures["longest wait beside a locked message, ms"] = Math.round(longestMs);
    return checked;
  }

  /** A slow connection, or a freeze, may lie between the check of the opt-out and the arrival at the carrier. */
  measureOptOuts(times: ReadonlyMap<string, number>): void {
    const lateMs = [...times].flatMap(([id, atMs]) => (this.#taken.get(id) ?? []).map((each) => each.atMs - atMs));
    this.figures["latest arrival after an opt-out, ms"] = Math.round(Math.max(0, ...lateMs));
  }
}
