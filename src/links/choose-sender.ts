/** Chooses the sender of a message whose request names none, among the senders that an account has on a link. */
import { createHash } from "node:crypto";
import { countryOf, type Recipient } from "../model/phone-number.ts";
import type { Owner } from "../model/owner.ts";
import type { Directory, LinkDirectory, OwnedSender } from "./directory.ts";
import type { Link } from "./link.ts";
import type { Sender } from "./plan.ts";

/** Why a message has its sender. `named`: the request names it. `reply`: the person wrote to it. The others are chosen: as the sender that the
 *  recipient knows, by preference or country, within a pool, as the first or the only one of the account on the link, or as that of the
 *  link. */
export const SENDER_REASONS = ["named", "reply", "sticky", "preferred", "pool", "first_sender", "only_sender", "link_default"] as const;
export type SenderReason = (typeof SENDER_REASONS)[number];

/** Whether a message keeps its sender on every link. */
export const isFixed = (reason: SenderReason | null): boolean => reason === "named" || reason === "reply";

/** A sender and why it was chosen. A message without a sender has no reason either: its carrier chooses. */
export type SenderChoice = { sender: string | null; senderReason: SenderReason | null };

type Rules = Pick<Sender, "number" | "countries" | "preference">;

/** The senders among which one message has a choice. A pool has several, and otherwise there is one. */
export type Candidates = { pool: readonly [OwnedSender, ...OwnedSender[]]; reason: SenderReason };

// Carriers replace or refuse names there: "SMS Sender IDs: No" in the tables of AWS End User Messaging, "Supported countries" (2026). Other
// countries ask for a registration, which the carrier checks. A sender that lists such a country in `countries` is used there all the same.
const WITHOUT_NAMES: ReadonlySet<string> = new Set([
  "AR",
  "BR",
  "CA",
  "CL",
  "CN",
  "CO",
  "CR",
  "DO",
  "EC",
  "PE",
  "PR",
  "PY",
  "SV",
  "US",
  "UY",
]);

const isName = (sender: string): boolean => /[A-Za-z]/.test(sender);

// The country is found only if a rule needs it: reading a number takes longer than all other checks.
const isListed = (countries: readonly string[], recipient: Recipient): boolean => countries.includes(countryOf(recipient) ?? "");

/** Whether a sender may be chosen for a recipient. */
function mayChooseFor({ number, countries }: Rules, recipient: Recipient): boolean {
  if (countries !== undefined) return isListed(countries, recipient);
  return !isName(number) || !WITHOUT_NAMES.has(countryOf(recipient) ?? "");
}

/** Whether a client may name a sender for a recipient. A name without a list of countries is left to the carrier. */
export const mayNameFor = ({ countries }: Rules, recipient: Recipient): boolean =>
  countries === undefined || isListed(countries, recipient);

/** Higher is better. A list of countries decides among senders of equal preference. */
const rankOf = ({ preference = 0, countries }: Rules): number => preference * 2 + (countries === undefined ? 0 : 1);

/** Returns the candidates among the senders of one account on one link. Undefined if none may be chosen for the recipient. */
export function candidatesFor(senders: readonly OwnedSender[], recipient: Recipient): Candidates | undefined {
  const [best, second, ...others] = senders.filter((each) => mayChooseFor(each, recipient)).toSorted((a, b) => rankOf(b) - rankOf(a));
  if (best === undefined) return undefined;
  if (second === undefined) return { pool: [best], reason: "only_sender" };
  const rest = best.pool === undefined ? [] : [second, ...others].filter(({ pool }) => pool === best.pool);
  if (rest.length > 0) return { pool: [best, ...rest], reason: "pool" };
  return { pool: [best], reason: rankOf(best) > rankOf(second) ? "preferred" : "first_sender" };
}

/** The properties of a message by which its sender is chosen. */
type SenderQuery = Owner & { recipient: Recipient };

/** The senders among which a message without a named sender has a choice on a link. Undefined if it has the sender of the link. */
export function candidatesOn(directory: Directory, link: Link, query: SenderQuery): Candidates | undefined {
  const senders = directory.sendersOn(link.name, query);
  return senders && candidatesFor(senders, query.recipient);
}

/** Chooses the sender on a link for a message that names none. */
export const senderOn = ({ current, waitOf }: LinkDirectory, link: Link, query: SenderQuery): SenderChoice =>
  pickFrom(candidatesOn(current, link, query), link, { recipient: query.recipient, last: null }, waitOf);

/** Chooses among the candidates on a link. `last` is the sender that the recipient knows, if it is known. */
export function pickFrom(
  candidates: Candidates | undefined,
  link: Link,
  whom: { recipient: Recipient; last: string | null },
  waitOf: WaitOf,
): SenderChoice {
  if (candidates !== undefined) return pickSender(candidates, whom, waitOf);
  return { sender: link.sender, senderReason: link.sender === null ? null : "link_default" };
}

/** Whether a message without a named sender could have this one on a link. */
export function mayChoose(directory: Directory, link: Link, sender: string | null, query: SenderQuery): boolean {
  if (link.accountId !== null && !link.accountId.equals(query.accountId)) return false;
  const candidates = candidatesOn(directory, link, query);
  return candidates === undefined ? link.sender === sender : candidates.pool.some(({ number }) => number === sender);
}

/** How long a sender has to wait for its turn with what it has been given, in milliseconds. */
type WaitOf = (sender: OwnedSender) => number;

/** Chooses within a pool: the sender that the recipient knows, otherwise the best by preference, by the wait for its rate, and by a hash
 *  of the recipient, which gives a recipient the same sender on every node. */
export function pickSender(
  { pool, reason }: Candidates,
  { recipient, last }: { recipient: Recipient; last: string | null },
  waitOf: WaitOf,
): SenderChoice {
  const [best, ...others] = pool;
  if (others.length === 0) return { sender: best.number, senderReason: reason };
  if (last !== null && pool.some(({ number }) => number === last)) return { sender: last, senderReason: "sticky" };
  const equal = pool.filter((each) => rankOf(each) === rankOf(best));
  if (equal.length === 1) return { sender: best.number, senderReason: "preferred" };
  const waits = equal.map((sender) => ({ sender, waitMs: waitOf(sender) }));
  const shortest = Math.min(...waits.map(({ waitMs }) => waitMs));
  const free = waits
    .filter(({ waitMs }) => waitMs === shortest)
    .map(({ sender }) => ({ sender, weight: hashOf(recipient, sender.number) }));
  const chosen = free.reduce((a, b) => (Buffer.compare(a.weight, b.weight) >= 0 ? a : b));
  return { sender: chosen.sender.number, senderReason: "pool" };
}

/** The sender with the greatest hash is chosen, so that a number that joins or leaves the pool moves few recipients. */
const hashOf = (recipient: Recipient, number: string): Buffer => createHash("sha256").update(`${recipient} ${number}`).digest();
