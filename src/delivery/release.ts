/** Releases scheduled messages when their time has come: each moves to the lane of a link. The link is chosen at release, not when the
 *  message is accepted. */
import type { LinkChooser, NoRoute } from "../links/choose-links.ts";
import type { Link } from "../links/link.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import type { Database } from "../storage/database.ts";
import { claimReleasable } from "./queue.ts";

const BATCH = 100;
// Releases start where the last one ended, and from the beginning this often: a scheduled message may have been committed after its time,
// or returned to the schedule when its node died.
const FROM_START_EVERY_MS = 30_000;

export type ReleaseParts = { db: Database; advancer: Advancer; linkChooser: LinkChooser; leaseMs: number };

/** A released message, and the lane in which it is due. */
export type Released = { message: Message; lane: string; dueAtMs: number };

export class Releaser {
  readonly #parts: ReleaseParts;
  /** No scheduled message is known to be due before this time. */
  #fromMs = 0;
  #startedOverAt = Number.NEGATIVE_INFINITY;

  constructor(parts: ReleaseParts) {
    this.#parts = parts;
  }

  /** Releases due messages. `hasMore`: others may be due. */
  async release(): Promise<{ released: Released[]; hasMore: boolean }> {
    const { db, advancer, leaseMs } = this.#parts;
    if (performance.now() - this.#startedOverAt > FROM_START_EVERY_MS) {
      this.#startedOverAt = performance.now();
      this.#fromMs = 0;
    }
    const nowMs = advancer.now();
    const due = await claimReleasable(db, { fromMs: this.#fromMs, nowMs, leaseMs, most: BATCH });
    const hasMore = due.length === BATCH;
    this.#fromMs = hasMore ? Math.max(...due.map(({ dueAtMs }) => dueAtMs)) : nowMs;
    const released = await Promise.all(due.map(({ message }) => this.#release(message)));
    return { released: released.filter((each) => each !== undefined), hasMore };
  }

  async #release(message: Message): Promise<Released | undefined> {
    const { advancer, linkChooser } = this.#parts;
    const { link, sender, refusal } = chooseLink(linkChooser, message);
    const dueAtMs = advancer.now();
    const queued = changeBy(
      message,
      {
        status: "queued",
        sender,
        detail: { reason: "send_at has come" },
        move: { kind: "wait", state: "waiting", atMs: dueAtMs, lane: link?.name ?? "" },
      },
      dueAtMs,
    );
    if (queued === undefined || !(await advancer.submit(queued))) return undefined;
    if (link !== undefined) return { message: queued.after, lane: link.name, dueAtMs };
    await failWithoutRoute(advancer, queued.after, refusal);
    return undefined;
  }
}

type ReleaseLink =
  | { link: Link; sender: string | null; refusal: null }
  | { link: undefined; sender: string | null; refusal: NoRoute["kind"] };

/** Chooses a link. A sender that was only the default of the earlier link may be replaced by the default of another. */
function chooseLink(linkChooser: LinkChooser, message: Message): ReleaseLink {
  const choice = linkChooser.choose(message);
  if (choice.kind === "chosen") return { link: choice.links[0], sender: message.sender, refusal: null };
  const isDefault = linkChooser.links.some((link) => message.sender === linkChooser.senderOn(link, message));
  const other = isDefault ? linkChooser.choose({ ...message, sender: null }) : choice;
  return other.kind === "chosen"
    ? { link: other.links[0], sender: linkChooser.senderOn(other.links[0], message), refusal: null }
    : { link: undefined, sender: message.sender, refusal: other.kind };
}

const REFUSALS: Readonly<Record<NoRoute["kind"], { message: string; permanent: boolean }>> = {
  no_route: { message: "No link took the message when its time had come.", permanent: false },
  destination_not_permitted: { message: "The recipient's country was not allowed any more when its time had come.", permanent: true },
  sender_not_allowed: { message: "The sender belonged to somebody else when its time had come.", permanent: true },
};

async function failWithoutRoute(advancer: Advancer, message: Message, code: NoRoute["kind"]): Promise<void> {
  const error = { code, ...REFUSALS[code], provider_code: null };
  const failed = changeBy(message, { status: "failed", error, detail: { reason: "no route" }, move: { kind: "leave" } }, advancer.now());
  if (failed !== undefined) await advancer.submit(failed);
}
