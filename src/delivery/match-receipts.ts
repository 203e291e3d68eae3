/** Finds the message of a delivery receipt: by the carrier id within the account at the carrier, or by our message id if the carrier returns it.
 *  The message is to the phone that the receipt names, if it names one. The carrier id may have another form than in the response (`id-forms.ts`).
 *  Two messages may fit a receipt, or the response of a third one may still be on its way. Such a receipt stays unmatched: no receipt is applied
 *  to a message on a guess. The id of a message whose process ended before the response is not known at all: it is the only message to the phone
 *  that has none. */
import { decodeId, idKey } from "../model/id.ts";
import { digitsOf, ERASED, formsOf, type Recipient } from "../model/phone-number.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Message } from "../messages/message.ts";
import type { CarrierId } from "../messages/change.ts";
import type { Receipt } from "../providers/provider.ts";
import type { DeliveryContext } from "./context.ts";
import { firstForms, otherForms } from "./id-forms.ts";
import {
  findByCarrierIds,
  findByOwnIds,
  findSentTo,
  readMessages,
  type Correspondent,
  type MatchedMessage,
  type SentMessage,
} from "./queries.ts";

/** The message of a receipt. The receipt has the carrier id in the form of the response. */
export type Match = MatchedMessage & { receipt: Receipt };

/** Whether a receipt names the recipient of a message; undefined if the receipt names no phone, or the recipient is erased. */
type IsRecipient = boolean | undefined;

type Candidate = MatchedMessage & CarrierId & { isOtherBase: boolean; isRecipient: IsRecipient };
type WantedId = CarrierId & { isOtherBase: boolean };

/** A message that is chosen unless another message to the person waits for its response; null: in any case. */
type Choice = { candidate: Candidate; person: Recipient | null };

// The messages of some seconds on a busy link, in a few megabytes.
const MAX_MESSAGES = 8_192;

/** The messages that this node submitted last, by carrier id. Most receipts arrive within seconds, and find their message here without a
 *  query. A message may have changed meanwhile: a change that is based on an old version is not stored. */
export class RecentMessages {
  readonly #messages = new BoundedMap<string, Message>(MAX_MESSAGES);

  remember({ link, providerMessageId }: CarrierId, message: Message): void {
    this.#messages.set(`${link} ${providerMessageId}`, message);
  }

  find({ link, providerMessageId }: CarrierId): Message | undefined {
    return this.#messages.get(`${link} ${providerMessageId}`);
  }

  /** Removes a message whose status is the last of its channel. Replaces any other message by its new version. */
  update(message: Message): void {
    const { provider } = message;
    if (provider === null || provider.messageId === null) return;
    const key = `${provider.link} ${provider.messageId}`;
    if (!this.#messages.has(key)) return;
    if (message.status === "read" || (message.status === "delivered" && message.channel === "sms")) this.#messages.delete(key);
    else this.#messages.set(key, message);
  }
}

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
    return messages.find((message) => {
      const isTo = isRecipient(receipt, message);
      return isTo !== false && !isDoubtful(receipt, isTo);
    });
  }

  async #matchStored(link: string, receipts: readonly Receipt[]): Promise<(Match | undefined)[]> {
    const first = await this.#findCandidates(receipts, (receipt) => wanted(link, firstIds(receipt)));
    const matches = receipts.map((receipt, index) => {
      const chosen = chooseFirst(receipt, first[index] ?? []);
      return chosen && isDoubtful(receipt, chosen.isRecipient) ? undefined : toMatch(receipt, chosen);
    });
    const missing = matches.flatMap((match, index) => (match === undefined ? [index] : []));
    if (missing.length === 0) return matches;
    // A carrier may send a receipt on any link of the same account.
    const siblings = this.#context.linkDirectory.current.siblingsOf(link);
    const others = await this.#findCandidates(
      missing.map((index) => receipts[index] as Receipt),
      (receipt) => [...otherIds(link, receipt), ...siblings.flatMap((sibling) => allIds(sibling, receipt))],
    );
    const choices = missing.flatMap((index, position) => {
      const receipt = receipts[index] as Receipt;
      const chosen = chooseOther(receipt, { first: first[index] ?? [], others: others[position] ?? [] });
      return chosen === undefined ? [] : [{ index, receipt, ...chosen }];
    });
    const awaiting = await this.#findAwaiting(choices);
    for (const { index, receipt, candidate, person } of choices)
      if (!awaiting.some((sent) => sent.recipient === person && sent.link === candidate.link && !sent.id.equals(candidate.message.id)))
        matches[index] = toMatch(receipt, candidate);
    const lost = missing.filter((index, position) => first[index]?.length === 0 && others[position]?.length === 0);
    const found = await this.#matchUnknown(
      link,
      lost.map((index) => receipts[index] as Receipt),
    );
    lost.forEach((index, position) => (matches[index] = found[position]));
    return matches;
  }

  /** The messages of receipts whose ids are not known: the only message to the phone on this link that has no id, if none can come any more.
   *  The receipts of several parts look alike. */
  async #matchUnknown(link: string, receipts: readonly Receipt[]): Promise<(Match | undefined)[]> {
    const named = receipts.flatMap((receipt) => {
      const [phone] = receipt.addresses === undefined ? [] : numbersIn(receipt);
      return phone === undefined ? [] : [{ receipt, recipient: `+${phone}` as Recipient, link }];
    });
    const sent = await this.#findUnanswered(named);
    const only = named.map(({ recipient }) => {
      const [message, ...others] = sent.filter((each) => each.recipient === recipient && each.link === link);
      return others.length === 0 && message?.is_unknown === true ? message : undefined;
    });
    const ids = only.flatMap((each) =>
      each === undefined ? [] : [{ accountId: each.account_id, environment: each.environment, id: each.id }],
    );
    const messages = ids.length === 0 ? [] : await readMessages(this.#context.db, ids);
    return receipts.map((receipt) => {
      const id = only[named.findIndex((each) => each.receipt === receipt)]?.id;
      const message = id && messages.find((each) => each.id.equals(id));
      return message !== undefined && (message.segments?.count ?? 1) === 1 ? { message, part: null, receipt } : undefined;
    });
  }

  /** The messages to these people that have left, and whose carrier id is not known. */
  async #findAwaiting(choices: readonly Choice[]): Promise<SentMessage[]> {
    return this.#findUnanswered(
      choices.flatMap(({ candidate: { link }, person }) => (person === null ? [] : [{ recipient: person, link }])),
    );
  }

  async #findUnanswered(people: readonly Pick<Correspondent, "recipient" | "link">[]): Promise<SentMessage[]> {
    const { db, clock, receiptWaitMs } = this.#context;
    const correspondents = people.map(({ recipient, link }) => ({ recipient, link, sender: "" }));
    const sent = people.length === 0 ? [] : [...(await findSentTo(db, correspondents)).values()].flat();
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
    const own = items.flatMap(({ id: { link, providerMessageId } }, position) => {
      const messageId = found.has(position) ? undefined : decodeId("msg", providerMessageId);
      return messageId === undefined ? [] : [{ position, link, messageId }];
    });
    for (const [at, message] of await findByOwnIds(this.#context.db, own)) found.set(own[at]?.position ?? 0, { message, part: null });
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
export const firstIds = (receipt: Receipt): string[] => [
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

// A higher counter has left the number behind that has the same digits in the other base. A single digit is the same in both.
const LOW_NUMBER = /^0*[1-9]\d{1,7}$/;

/** Whether nothing but a low number identifies the message of a receipt. A carrier that counts in one base and writes receipts in the other gives a
 *  message the digits that mean another one. */
const isDoubtful = ({ idForm, providerMessageId: id }: Receipt, isTo: IsRecipient): boolean =>
  idForm === "auto" && isTo === undefined && LOW_NUMBER.test(id ?? "");

/** The message with the id of the receipt, unless it is to somebody else; otherwise the one with our message id. */
function chooseFirst(receipt: Receipt, candidates: readonly Candidate[]): Candidate | undefined {
  const named = candidates.filter(({ providerMessageId }) => providerMessageId !== receipt.reference);
  return onlyFitting(named) ?? onlyFitting(candidates);
}

/** The only message that fits, with an id in any form, on any link of the account. A number in another base needs the recipient, and may be the id of
 *  another message to the same person. Without a recipient, a low number counts only if it means no other message in another base. A text that is
 *  no receipt, since it is about a message to somebody else, gets that message. */
function chooseOther(receipt: Receipt, found: { first: readonly Candidate[]; others: readonly Candidate[] }): Choice | undefined {
  const others = found.others.filter((each) => !each.isOtherBase || each.isRecipient === true || isDoubtful(receipt, each.isRecipient));
  const candidate = onlyFitting([...found.first, ...others]);
  if (candidate !== undefined) {
    const isGuess = isDoubtful(receipt, candidate.isRecipient);
    if (candidate.isOtherBase && isGuess) return undefined;
    return { candidate, person: candidate.isOtherBase || isGuess ? personOf(candidate) : null };
  }
  if (receipt.unmarkedFrom === undefined) return undefined;
  const forged = onlyMessage(found.first.filter((each) => each.isRecipient === false));
  return forged && { candidate: forged, person: null };
}

const personOf = ({ message: { recipient } }: Candidate): Recipient | null => (recipient === ERASED ? null : recipient);

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
export const numbersIn = ({
  unmarkedFrom,
  addresses = unmarkedFrom ?? [],
}: Pick<Receipt, "unmarkedFrom" | "addresses">): (string | undefined)[] =>
  addresses.map((text) => {
    const digits = /^\+?(\d+)$/.exec(text.trim())?.[1]?.replace(/^0+/, "") ?? "";
    return digits.length < MIN_NUMBER_DIGITS ? undefined : digits;
  });

/** Whether a receipt is about a message to a phone. Carriers also write a number without the country, or with digits before it. */
export function isRecipient(receipt: Receipt, { recipient, sender }: Message): IsRecipient {
  if (recipient === ERASED) return undefined;
  const numbers = numbersIn(receipt);
  const phones = formsOf(recipient).map(digitsOf);
  if (numbers.some((each) => each !== undefined && phones.some((phone) => phone.endsWith(each) || each.endsWith(phone)))) return true;
  // The phone comes first, unless our sender does.
  const { unmarkedFrom, addresses = unmarkedFrom ?? [] } = receipt;
  const isSwapped = sender !== null && addresses[0]?.trim().replace(/^\+/, "") === sender.replace(/^\+/, "");
  return numbers[isSwapped ? 1 : 0] === undefined ? undefined : false;
}
