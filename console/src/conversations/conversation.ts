/** Conversations: the messages to and from one person, and whether free text may be sent to the person. */
import type { Message, Suppression } from "godwit-sdk";

export type Conversation = { person: string; newest: Message; messages: number; hasInbound: boolean };

/** The other side of a message. Null if the carrier did not report the sender of an inbound message. */
export const personOf = ({ direction, recipient, sender }: Message): string | null => (direction === "inbound" ? sender : recipient);

/** The own side of a message: the sender of an outbound message, the recipient of an inbound one. */
export const ownSideOf = ({ direction, recipient, sender }: Message): string | null =>
  (direction === "inbound" ? recipient : sender) || null;

/** Merges lists of messages, oldest first. Of two records of one message, the newer one counts. */
export function mergeMessages(...lists: readonly (readonly Message[])[]): Message[] {
  const newest = new Map<string, Message>();
  for (const message of lists.flat()) {
    const known = newest.get(message.id);
    if (known === undefined || known.sequence <= message.sequence) newest.set(message.id, message);
  }
  // Ids are ordered by time.
  return [...newest.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Groups messages, oldest first, by person. The conversation with the newest message comes first. */
export function toConversations(messages: readonly Message[]): Conversation[] {
  const byPerson = new Map<string, Conversation>();
  for (const message of messages) {
    const person = personOf(message);
    if (person === null || person === "") continue;
    const { messages: count, hasInbound } = byPerson.get(person) ?? { messages: 0, hasInbound: false };
    byPerson.set(person, { person, newest: message, messages: count + 1, hasInbound: hasInbound || message.direction === "inbound" });
  }
  return [...byPerson.values()].toSorted((a, b) => (a.newest.id < b.newest.id ? 1 : -1));
}

export type ServiceWindow = { kind: "not_needed" } | { kind: "unknown" } | { kind: "open" | "closed"; untilMs: number };

const WINDOW_MS = 24 * 3_600_000;

/** The service window of WhatsApp: free text is permitted for 24 hours after the last message of the person to the sender. */
export function windowOf(messages: readonly Message[], channel: string, sender: string, nowMs: number): ServiceWindow {
  if (channel !== "whatsapp") return { kind: "not_needed" };
  // A message to a group does not open the window of the person.
  const isOpening = ({ direction, channel: through, recipient, metadata }: Message): boolean =>
    direction === "inbound" && through === channel && (sender === "" || recipient === sender) && metadata["group_id"] === undefined;
  const last = messages.findLast(isOpening);
  if (last === undefined) return { kind: "unknown" };
  const untilMs = Date.parse(last.created_at) + WINDOW_MS;
  return { kind: untilMs > nowMs ? "open" : "closed", untilMs };
}

/** The suppression that refuses a message from the sender. Without a sender, only one for all senders is certain to apply. */
export const blockingSuppression = (suppressions: readonly Suppression[], sender: string): Suppression | undefined =>
  suppressions.find((each) => each.sender === null || each.sender === sender);

export type ReplyDefaults = { channel: string; sender: string };

/** A reply uses the channel and the own number of the person's last message, or of the last message to the person. */
export function replyDefaults(messages: readonly Message[]): ReplyDefaults {
  const inbound = messages.findLast(({ direction }) => direction === "inbound");
  if (inbound !== undefined) return { channel: inbound.channel, sender: inbound.recipient };
  return { channel: messages.at(-1)?.channel ?? "sms", sender: "" };
}

/** Whether a reply can quote the message: on WhatsApp, and after its carrier has it. */
export const isQuotable = ({ channel, provider }: Message): boolean => channel === "whatsapp" && (provider?.message_id ?? null) !== null;

/** The emoji of one side on a message. */
export type Reaction = { emoji: string; by: Message };

/** The message that a reaction is on. Null for other messages, and if the message is not known. */
function targetOf({ content }: Message): string | null {
  return content?.type === "reaction" && "message_id" in content ? content.message_id : null;
}

/** Whether the message is a reaction on one of the known messages. */
export const isReactionIn = (message: Message, known: ReadonlyMap<string, Message>): boolean => known.has(targetOf(message) ?? "");

/** The reactions on messages, by their ids. Of several of one side the last one counts, and one without an emoji removes the earlier one. */
export function reactionsOn(messages: readonly Message[]): ReadonlyMap<string, readonly Reaction[]> {
  const byTarget = new Map<string, Map<string, Reaction>>();
  for (const message of messages) {
    const target = targetOf(message);
    if (target === null) continue;
    const emoji = message.content !== null && "emoji" in message.content ? message.content.emoji : null;
    const sides = byTarget.get(target) ?? new Map<string, Reaction>();
    if (emoji === null) sides.delete(message.direction);
    else sides.set(message.direction, { emoji, by: message });
    byTarget.set(target, sides);
  }
  return new Map(Array.from(byTarget, ([id, sides]) => [id, [...sides.values()]]));
}
