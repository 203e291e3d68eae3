/** Releases scheduled messages when their time has come: each moves to the lane of a link. The link is chosen at release, not when the
 *  message is accepted. */
import type { LinkChooser, NoRoute } from "../links/choose-links.ts";
import type { Link } from "../links/link.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import type { Database } from "../storage/database.ts";
import { claimReleasable, returnScheduled, type Releasable } from "./queue.ts";

const BATCH = 100;
// The clocks of the database and of this node differ by the error of a sample.
const MAX_EARLY_MS = 250;

export type ReleaseParts = { db: Database; advancer: Advancer; linkChooser: LinkChooser; leaseMs: number };

/** Releases due messages. Returns the lanes that have new work and the number of messages; there may be more until it is zero. The database
 *  finds the messages by its own clock. Where this clock is ahead for a while, messages whose time has not come return to their place. */
export async function releaseDue({ db, advancer, linkChooser, leaseMs }: ReleaseParts): Promise<{ lanes: Set<string>; released: number }> {
  const claimed = await claimReleasable(db, leaseMs, BATCH);
  const lanes = new Set<string>();
  const nowMs = advancer.now();
  const isEarly = ({ dueAtMs }: Releasable): boolean => dueAtMs > nowMs + MAX_EARLY_MS;
  const early = claimed.filter(isEarly);
  if (early.length > 0) await returnScheduled(db, early);
  const due = claimed.filter((each) => !isEarly(each));
  await Promise.all(
    due.map(async ({ message }) => {
      const { link, sender, refusal } = chooseLink(linkChooser, message);
      const queued = changeBy(
        message,
        {
          status: "queued",
          sender,
          detail: { reason: "send_at has come" },
          move: { kind: "wait", state: "waiting", afterMs: 0, lane: link?.name ?? "" },
        },
        advancer.now(),
      );
      if (queued === undefined || !(await advancer.submit(queued))) return;
      if (link === undefined) await failWithoutRoute(advancer, queued.after, refusal);
      else lanes.add(link.name);
    }),
  );
  return { lanes, released: due.length };
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
