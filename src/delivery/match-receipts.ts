/** Finds the message of a delivery receipt: by the carrier id within the link, or by our message id if the carrier returns it. The carrier id
 *  may have another form than in the response (`id-forms.ts`), and then the recipient confirms the message. Two messages may fit a receipt, or
 *  the response of a third one may still be on its way. Such a receipt stays unmatched: no receipt is applied to a message on a guess. */
import { decodeId, idKey } from "../model/id.ts";
import { digitsOf, ERASED, formsOf, type Recipient } from "../model/phone-number.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Message } from "../messages/message.ts";
import type { CarrierId } from "../messages/provider-reference.ts";
import type { Receipt } from "../providers/provider.ts";
import { siblingsOf } from "../links/ownership.ts";
import type { DeliveryContext } from "./context.ts";
import { firstForms, otherForms } from "./id-forms.ts";
import { findByCarrierIds, findSentTo, type MatchedMessage, type SentMessage } from "./queries.ts";
import type { RecentMessages } from "./recent-messages.ts";

/** The message of a receipt. The receipt has the carrier id in the form of the response. */
export type Match = MatchedMessage & { receipt: Receipt };

/** Whether a receipt names the recipient of a message; undefined if the receipt names no phone, or the recipient is erased. */
type IsRecipient = boolean | undefined;

type Candidate = MatchedMessage & CarrierId & { isOtherBase: boolean; isRecipient: IsRecipient };
type WantedId = CarrierId & { isOtherBase: boolean };

/** A message that is chosen unless another message to the person waits for its response; null: in any case. */
type Choice = { candidate: Candidate; person: Recipient | null };

export class ReceiptMatcher {
  readonly #context: DeliveryContext;
  readonly #recent: RecentMessages;

  constructor(context: DeliveryContext, recent: RecentMessages) {
    this.#context = context;
    this.#recent = recent;
  }

  /** The messages of receipts, by position in the list. An unmatched receipt has no entry. */
  async match(link: string, receipts: readonly Receipt[]): Promise<ReadonlyMap<number, Match>> {
    const found = new Map<number, Match>();
    const unknown: number[] = [];
    receipts.forEach((receipt, index) => {
      const recent = this.#findRecent(link, receipt);
      if (recent === undefined) unknown.push(index);
      else found.set(index, { message: recent, part: null, receipt });
    });
    const rest = unknown.map((index) => receipts[index] as Receipt);
    const matches = rest.length === 0 ? [] : await this.#matchStored(link, rest);
    unknown.forEach((index, position) => {
      const { [position]: match } = matches;
      if (match !== undefined) found.set(index, match);
    });
    return found;
  }

  /** A message that this node submitted lately, by the same id. */
  #findRecent(link: string, receipt: Receipt): Message | undefined {
    const messages = firstIds(receipt).flatMap((providerMessageId) => this.#recent.find({ link, providerMessageId }) ?? []);
    return messages.find((message) => isRecipient(receipt, message) !== false);
  }

  async #matchStored(link: string, receipts: readonly Receipt[]): Promise<(Match | undefined)[]> {
    const first = await this.#findCandidates(receipts, (receipt) => wanted(link, firstIds(receipt)));
    const matches = receipts.map((receipt, index) => toMatch(receipt, chooseFirst(receipt, first[index] ?? [])));
    const missing = matches.flatMap((match, index) => (match === undefined ? [index] : []));
    if (missing.length === 0) return matches;
    // A carrier may send a receipt on any link of the same account.
    const siblings = siblingsOf(this.#context.linkDirectory.current, link);
    const others = await this.#findCandidates(
      missing.map((index) => receipts[index] as Receipt),
      (receipt) => [...otherIds(link, receipt), ...siblings.flatMap((sibling) => allIds(sibling, receipt))],
    );
    const choices = missing.flatMap((index, position) => {
      const receipt = receipts[index] as Receipt;
      const chosen = chooseOther(link, receipt, { first: first[index] ?? [], others: others[position] ?? [] });
      return chosen === undefined ? [] : [{ index, receipt, ...chosen }];
    });
    const awaiting = await this.#findAwaiting(choices);
    for (const { index, receipt, candidate, person } of choices)
      if (!awaiting.some((sent) => sent.recipient === person && sent.link === candidate.link && !sent.id.equals(candidate.message.id)))
        matches[index] = toMatch(receipt, candidate);
    return matches;
  }

  /** The messages to these people that have left, and whose carrier id is not known. */
  async #findAwaiting(choices: readonly Choice[]): Promise<SentMessage[]> {
    const { db, clock, receiptWaitMs } = this.#context;
    const people = choices.flatMap(({ candidate: { link }, person }) => (person === null ? [] : [{ recipient: person, link, sender: "" }]));
    const sent = people.length === 0 ? [] : [...(await findSentTo(db, people)).values()].flat();
    const sinceMs = clock.now() - receiptWaitMs;
    return sent.filter(({ id, is_unanswered: isUnanswered }) => isUnanswered && uuidTimeMs(id) >= sinceMs);
  }

  async #findCandidates(receipts: readonly Receipt[], idsOf: (receipt: Receipt) => readonly WantedId[]): Promise<Candidate[][]> {
    const items = receipts.flatMap((receipt, index) => idsOf(receipt).map((id) => ({ receipt, index, id })));
    const candidates = receipts.map((): Candidate[] => []);
    if (items.length === 0) return candidates;
    const found = await findByCarrierIds(
      this.#context.db,
      items.map(({ id }) => id),
    );
    for (const [position, match] of found) {
      const { receipt, index, id } = items[position] as (typeof items)[number];
      candidates[index]?.push({ ...match, ...id, isRecipient: isRecipient(receipt, match.message) });
    }
    return candidates;
  }
}

/** Only a valid message id of ours: carrier ids and our own ids share one set for each link. */
export const referenceOf = ({ reference }: Receipt): string[] =>
  reference === null || decodeId("msg", reference) === undefined ? [] : [reference];

/** The ids that a receipt most likely means. */
const firstIds = (receipt: Receipt): string[] => [
  ...(receipt.providerMessageId === null ? [] : firstForms(receipt.providerMessageId, receipt.idForm)),
  ...referenceOf(receipt),
];

const wanted = (link: string, ids: readonly string[], isOtherBase = false): WantedId[] =>
  ids.map((providerMessageId) => ({ link, providerMessageId, isOtherBase }));

/** The ids in other forms. */
function otherIds(link: string, { providerMessageId: id, idForm }: Receipt): WantedId[] {
  if (id === null) return [];
  const { notations, bases } = otherForms(id, idForm);
  return [...wanted(link, notations), ...wanted(link, bases, true)];
}

const allIds = (link: string, receipt: Receipt): WantedId[] =>
  receipt.providerMessageId === null ? [] : [...wanted(link, firstIds(receipt)), ...otherIds(link, receipt)];

/** The message with the id of the receipt, unless it is to somebody else; otherwise the one with our message id. */
function chooseFirst(receipt: Receipt, candidates: readonly Candidate[]): Candidate | undefined {
  const named = candidates.filter(({ providerMessageId }) => providerMessageId !== receipt.reference);
  return onlyFitting(named) ?? onlyFitting(candidates);
}

/** The only message whose id has another form, or else the only one on another link of the account. A number in another base needs the
 *  recipient, and may be the id of another message to the same person. If there is none, the message with the id of the receipt counts, though
 *  it is to somebody else: the carrier may not write the phone number. Or it uses an id again, and the new message has no response yet. */
function chooseOther(
  link: string,
  receipt: Receipt,
  found: { first: readonly Candidate[]; others: readonly Candidate[] },
): Choice | undefined {
  const fitting = found.others.filter((each) => each.isRecipient === true || (each.isRecipient === undefined && !each.isOtherBase));
  if (fitting.length > 0) {
    const own = fitting.filter((each) => each.link === link);
    const candidate = onlyMessage(own.length > 0 ? own : fitting);
    return candidate && { candidate, person: candidate.isOtherBase ? candidate.message.recipient : null };
  }
  const candidate = onlyMessage(found.first.filter((each) => each.isRecipient === false));
  const isUnmarked = receipt.unmarkedFrom !== undefined;
  return candidate && { candidate, person: isUnmarked ? null : (`+${numbersIn(receipt)[0]}` as Recipient) };
}

/** The only message among the candidates: of those to the phone that the receipt names, otherwise of those that it does not contradict. */
function onlyFitting(candidates: readonly Candidate[]): Candidate | undefined {
  const confirmed = candidates.filter((each) => each.isRecipient === true);
  return onlyMessage(confirmed.length > 0 ? confirmed : candidates.filter((each) => each.isRecipient === undefined));
}

/** The first candidate, if all of them are the same message. */
function onlyMessage(candidates: readonly Candidate[]): Candidate | undefined {
  const ids = new Set(candidates.map(({ message, part }) => `${idKey(message.id)} ${part}`));
  return ids.size === 1 ? candidates[0] : undefined;
}

const toMatch = (receipt: Receipt, found: Candidate | undefined): Match | undefined =>
  found && {
    message: found.message,
    part: found.part,
    receipt: found.providerMessageId === receipt.reference ? receipt : { ...receipt, providerMessageId: found.providerMessageId },
  };

// A shorter address is a short code, with which many numbers end.
const MIN_NUMBER_DIGITS = 7;

/** The phone numbers that a receipt names, each without its plus and leading zeros: the phone, and our number. Some carriers swap them. */
const numbersIn = ({ unmarkedFrom, addresses = unmarkedFrom ?? [] }: Receipt): (string | undefined)[] =>
  addresses.map((text) => {
    const digits = /^\+?0*(\d+)$/.exec(text.trim())?.[1] ?? "";
    return digits.length < MIN_NUMBER_DIGITS ? undefined : digits;
  });

/** Whether a receipt is about a phone. Carriers also write a number without the country, or with digits before it. */
export function isRecipient(receipt: Receipt, { recipient }: Message): IsRecipient {
  if (recipient === ERASED) return undefined;
  const numbers = numbersIn(receipt);
  const phones = formsOf(recipient).map(digitsOf);
  const isNamed = numbers.some((each) => each !== undefined && phones.some((phone) => phone.endsWith(each) || each.endsWith(phone)));
  return isNamed || (numbers[0] === undefined ? undefined : false);
}
