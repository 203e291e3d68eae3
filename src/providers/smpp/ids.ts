/** One form for carrier ids. Many carriers write an id in the receipt differently from the response: decimal for hexadecimal, letters in
 *  the other case, with or without leading zeros. The form of the response is stored, so the id of a receipt is converted into that
 *  form.
 *
 *  The conversion is set in the link's settings, or learnt. One receipt whose number fits a response in another base proves nothing: a
 *  carrier that counts upwards gives every small number to some message. So a form is learnt from several messages, and a response that
 *  is still to come may show that a receipt belongs to another message. Until then a receipt is passed on unchanged, which parks it. */
import type { Receipt, ReceiptIdForm } from "../provider.ts";
import type { ReceiptIds } from "./settings.ts";

// Receipts mostly come within seconds of the response. This number covers some minutes of a busy link.
const MAX_RECENT = 10_000;
// Receipts whose form is not decided. They are forwarded again when it is.
const MAX_UNDECIDED = 1_000;
// The number of messages that must show the same form before it is learnt.
const LEARNT_AFTER = 3;
// The number of messages that must contradict a learnt form, without one in between that agrees: the carrier has changed its form.
const CHANGED_AFTER = 5;
// Above this, the requests without a response are not counted one by one.
const MAX_UNKNOWN = 10_000;
// Fewer digits are not compared: short codes and masked numbers have as many.
const MIN_PHONE_DIGITS = 6;

type Base = ReceiptIdForm["base"];

const isDecimal = (id: string): boolean => /^\d{1,65}$/.test(id);
const isHex = (id: string): boolean => /^[0-9a-f]{1,65}$/i.test(id);
const canonical = (id: string): string => id.toLowerCase().replace(/^0+(?=.)/, "");
const decimalValue = (id: string): string => BigInt(id).toString();
const hexValue = (id: string): string => BigInt(`0x${id}`).toString();

/** The keys under which the id of a response is indexed. */
const responseKeys = (id: string): string[] => [
  `same ${canonical(id)}`,
  ...(isDecimal(id) ? [`hex ${decimalValue(id)}`] : []),
  ...(isHex(id) ? [`decimal ${hexValue(id)}`] : []),
];

/** The keys by which the response of a receipt's id is found: one for each base that the id may be written in. */
const receiptKeys = (id: string): [base: Base, key: string][] => [
  ["same", `same ${canonical(id)}`],
  ...(isDecimal(id) ? ([["decimal", `decimal ${decimalValue(id)}`]] as [Base, string][]) : []),
  ...(isHex(id) ? ([["hex", `hex ${hexValue(id)}`]] as [Base, string][]) : []),
];

/** A response that the id of a receipt may belong to. `isSamePerson`: whether both are about one phone; undefined if that is unknown. */
type Candidate = { base: Base; id: string; isSamePerson: boolean | undefined };

/** A receipt and its response, as far as the known responses show. `after`: the last request before the receipt. */
type Pair = { base: Base; id: string; after: number };

/** The meaning of a receipt's id while the form is not known.
 *  `same`: the id of a response. `other`: the id of a response in another form. `doubtful`: the id of a response to another person, and in
 *  another base that of a response to the receipt's own person. */
type Reading = { kind: "same" | "other" | "doubtful" | "none"; pair: Omit<Pair, "after"> | undefined };

/** A receipt whose form is not decided. `forwardedAs`: the id with which it was passed on. */
type Undecided = { receipts: Receipt[]; addresses: ReceiptAddresses; after: number; forwardedAs: string };

export type MessageIdsOptions = {
  receiptIds: ReceiptIds;
  /** The form that was learnt before a restart. */
  learnt?: ReceiptIdForm | undefined;
  /** Called with a learnt form. */
  onLearnt: (form: ReceiptIdForm) => void;
  /** Called with receipts that were passed on with another id before, and have the id of the response now. */
  forward: (receipts: readonly Receipt[]) => void;
};

export class MessageIds {
  readonly #isLearning: boolean;
  readonly #options: MessageIdsOptions;
  /** The phone of each response; null if it is not known. */
  readonly #recent = new Map<string, string | null>();
  readonly #byKey = new Map<string, string>();
  readonly #undecided = new Map<string, Undecided>();
  readonly #undecidedByKey = new Map<string, Set<string>>();
  #undecidedCount = 0;
  /** Receipts that show the form, by the receipt's id. */
  readonly #evidence = new Map<string, Pair>();
  /** Requests that wait for their responses, in order, and requests that never got one. */
  readonly #open = new Set<number>();
  readonly #unknown = new Set<number>();
  #requests = 0;
  #form: ReceiptIdForm | undefined;

  constructor(options: MessageIdsOptions) {
    const { receiptIds, learnt } = options;
    this.#options = options;
    this.#isLearning = receiptIds === "learn";
    this.#form = receiptIds === "learn" ? learnt : { base: receiptIds, letters: receiptIds === "decimal" ? "lower" : "kept", width: null };
  }

  /** A request leaves. Returns its number, for the calls below. */
  requested(): number {
    this.#requests += 1;
    this.#open.add(this.#requests);
    return this.#requests;
  }

  /** The carrier has given an id to the message, perhaps late. */
  accepted(request: number, id: string, phone: string): void {
    this.#settle(request);
    this.remember(id, phone);
    this.#decide();
  }

  /** The carrier has refused the message, or nothing has left. */
  refused(request: number): void {
    this.#settle(request);
    this.#decide();
  }

  /** No response came: the carrier may have given an id to the message. */
  unanswered(request: number): void {
    this.#open.delete(request);
    if (this.#unknown.size < MAX_UNKNOWN) this.#unknown.add(request);
  }

  /** Adds the id of a response. */
  remember(id: string, phone: string | null = null): void {
    const isNew = !this.#recent.has(id);
    if (isNew && this.#recent.size >= MAX_RECENT) for (const oldest of this.#recent.keys().take(1)) this.#forget(oldest);
    this.#recent.set(id, phone);
    if (!isNew) return;
    const keys = responseKeys(id);
    for (const key of keys) this.#byKey.set(key, id);
    // The setting does not define the letter case and the leading zeros: the responses show both.
    if (!this.#isLearning && this.#form !== undefined && this.#form.base !== "same")
      this.#form = { ...this.#form, ...notation(id, this.#form) };
    this.#readAgain(keys);
  }

  /** Adds a receipt that was parked before a restart. */
  restore(receipt: Receipt): void {
    const id = receipt.providerMessageId;
    if (id === null || !this.#isLearning || this.#form !== undefined) return;
    this.#keep(id, { receipt, addresses: NO_ADDRESSES, after: 0, forwardedAs: id });
    this.#note(id, this.#read(id, NO_ADDRESSES).pair, 0);
    this.#decide();
  }

  /** Returns the receipt with its id in the form of the responses. Undefined: the receipt
   *  must come again when the form is known, since its id would name another message. */
  normalize(receipt: Receipt, addresses: ReceiptAddresses): Receipt | undefined {
    const id = receipt.providerMessageId;
    if (id === null) return receipt;
    if (this.#form === undefined) return this.#normalizeUnlearnt(id, receipt, addresses);
    const converted = this.#translate(id, this.#form);
    if (this.#isLearning) this.#checkForm(id, { receipt, addresses, after: this.#requests, forwardedAs: converted });
    return { ...receipt, providerMessageId: converted };
  }

  #normalizeUnlearnt(id: string, receipt: Receipt, addresses: ReceiptAddresses): Receipt | undefined {
    const { kind, pair } = this.#read(id, addresses);
    this.#note(id, pair, this.#requests);
    this.#decide();
    if (this.#form !== undefined) return { ...receipt, providerMessageId: this.#translate(id, this.#form) };
    if (kind === "doubtful") return undefined;
    const isSameNumber = pair?.base === "same";
    if (kind === "none" || (kind === "other" && !isSameNumber))
      this.#keep(id, { receipt, addresses, after: this.#requests, forwardedAs: id });
    return kind === "other" && isSameNumber ? { ...receipt, providerMessageId: pair.id } : receipt;
  }

  /** Notes a receipt that contradicts the learnt form, and forgets earlier ones when a receipt agrees with it. */
  #checkForm(id: string, { receipt, ...context }: Omit<Undecided, "receipts"> & { receipt: Receipt }): void {
    const { pair } = this.#read(id, context.addresses);
    if (pair === undefined) return;
    if (pair.base === this.#form?.base) return this.#forgetUndecided();
    this.#keep(id, { receipt, ...context });
    this.#note(id, pair, context.after);
    this.#decide();
  }

  /** Finds the response that the id belongs to, if the known responses leave no doubt. */
  #read(id: string, addresses: ReceiptAddresses): Reading {
    const candidates = this.#candidates(id, addresses);
    const exact = candidates.find((each) => each.id === id);
    const others = candidates.filter((each) => each.id !== id && each.isSamePerson !== false);
    const ids = new Set(others.map((each) => each.id));
    const [other] = ids.size === 1 ? others : [];
    const isOthers = other?.isSamePerson === true && exact?.isSamePerson === false;
    if (exact !== undefined && !isOthers) {
      const isClear = others.length === 0 && candidates.filter((each) => each.id === id).length === 1;
      return { kind: "same", pair: isClear ? { base: "same", id } : undefined };
    }
    return { kind: exact !== undefined ? "doubtful" : other === undefined ? "none" : "other", pair: other };
  }

  #candidates(id: string, addresses: ReceiptAddresses): Candidate[] {
    return receiptKeys(id).flatMap(([base, key]) => {
      const found = this.#find(id, base, key);
      return found === undefined ? [] : [{ base, id: found, isSamePerson: isSamePerson(this.#recent.get(found) ?? null, addresses) }];
    });
  }

  /** Stores what a receipt shows, or that it no longer shows anything. */
  #note(id: string, pair: Omit<Pair, "after"> | undefined, after: number): void {
    this.#evidence.delete(id);
    if (pair === undefined) return;
    if (this.#evidence.size >= MAX_UNDECIDED) for (const oldest of this.#evidence.keys().take(1)) this.#evidence.delete(oldest);
    this.#evidence.set(id, { base: pair.base, id: pair.id, after });
  }

  /** Reads the undecided receipts again that a new response may belong to. */
  #readAgain(keys: readonly string[]): void {
    const affected = new Set(keys.flatMap((key) => [...(this.#undecidedByKey.get(key) ?? [])]));
    for (const id of affected) {
      const kept = this.#undecided.get(id);
      if (kept === undefined) continue;
      const { kind, pair } = this.#read(id, kept.addresses);
      this.#note(id, pair, kept.after);
      // Receipts that are parked under the id of the response are applied without us.
      if (kind === "same") this.#drop(id);
      else if (this.#form === undefined && kind === "other" && pair?.base === "same") {
        this.#drop(id);
        this.#options.forward(kept.receipts.map((receipt) => withId(receipt, pair.id, kept.forwardedAs)));
      }
    }
  }

  /** Learns a form when enough messages show it, and none or far fewer show another. A request without a response may belong to a
   *  receipt that fits by chance, so each of them needs one more message. */
  #decide(): void {
    if (!this.#isLearning || this.#evidence.size < LEARNT_AFTER) return;
    const [oldestOpen = Infinity] = this.#open;
    const shown = { same: new Set<string>(), decimal: new Set<string>(), hex: new Set<string>() };
    // The response to a request before the receipt may still show that the receipt belongs to it.
    for (const { base, id, after } of this.#evidence.values()) if (base === "same" || after < oldestOpen) shown[base].add(id);
    const [first, second] = Object.entries(shown).toSorted(([, a], [, b]) => b.size - a.size) as [[Base, Set<string>], [Base, Set<string>]];
    const needed = (this.#form === undefined ? LEARNT_AFTER : CHANGED_AFTER) + (first[0] === "same" ? 0 : this.#unknown.size);
    if (first[1].size - second[1].size >= needed && first[0] !== this.#form?.base) this.#learn(first[0]);
  }

  #learn(base: Base): void {
    const pairs = Array.from(this.#evidence).filter(([, pair]) => pair.base === base);
    const form = formOf(base, pairs);
    this.#form = form;
    const kept = [...this.#undecided];
    this.#forgetUndecided();
    this.#options.onLearnt(form);
    const converted = kept.flatMap(([id, { receipts, forwardedAs }]) => {
      const to = this.#translate(id, form);
      return to === forwardedAs ? [] : receipts.map((receipt) => withId(receipt, to, forwardedAs));
    });
    if (converted.length > 0) this.#options.forward(converted);
  }

  /** Converts an id. The id of a recent response is returned unchanged, with its own leading zeros. */
  #translate(id: string, form: ReceiptIdForm): string {
    const key = receiptKeys(id).find(([base]) => base === form.base)?.[1];
    return (key === undefined ? undefined : this.#find(id, form.base, key)) ?? rewrite(id, form);
  }

  /** The id of a recent response that an id of a receipt means in this base. Ids of one carrier may differ in case or leading zeros only. */
  #find(id: string, base: Base, key: string): string | undefined {
    return base === "same" && this.#recent.has(id) ? id : this.#byKey.get(key);
  }

  #keep(id: string, { receipt, ...context }: Omit<Undecided, "receipts"> & { receipt: Receipt }): void {
    if (this.#undecidedCount >= MAX_UNDECIDED) return;
    this.#undecidedCount += 1;
    const before = this.#undecided.get(id);
    this.#undecided.set(id, { ...(before ?? context), receipts: [...(before?.receipts ?? []), receipt] });
    for (const [, key] of receiptKeys(id)) this.#undecidedByKey.set(key, (this.#undecidedByKey.get(key) ?? new Set()).add(id));
  }

  #drop(id: string): void {
    this.#undecidedCount -= this.#undecided.get(id)?.receipts.length ?? 0;
    this.#undecided.delete(id);
    for (const [, key] of receiptKeys(id)) {
      const ids = this.#undecidedByKey.get(key);
      ids?.delete(id);
      if (ids?.size === 0) this.#undecidedByKey.delete(key);
    }
  }

  #forgetUndecided(): void {
    this.#undecided.clear();
    this.#undecidedByKey.clear();
    this.#undecidedCount = 0;
    this.#evidence.clear();
  }

  #settle(request: number): void {
    this.#open.delete(request);
    this.#unknown.delete(request);
  }

  #forget(id: string): void {
    this.#recent.delete(id);
    for (const key of responseKeys(id)) if (this.#byKey.get(key) === id) this.#byKey.delete(key);
  }
}

const NO_ADDRESSES: ReceiptAddresses = { source: "", destination: "" };

const withId = (receipt: Receipt, id: string, parkedAs: string): Receipt => ({ ...receipt, providerMessageId: id, parkedAs });

/** The addresses of a receipt: its source is the phone, and its destination our number. Some carriers write them the other way round. */
export type ReceiptAddresses = { source: string; destination: string };

const phoneDigits = (address: string): string => address.replaceAll(/\D/g, "").replace(/^0+/, "");

/** Whether a receipt is about the phone. Carriers also write numbers without the country, or with digits before it. */
function isSamePerson(phone: string | null, { source, destination }: ReceiptAddresses): boolean | undefined {
  if (phone === null) return undefined;
  const isPhone = (digits: string): boolean => digits.length >= MIN_PHONE_DIGITS && (phone.endsWith(digits) || digits.endsWith(phone));
  if ([source, destination].map(phoneDigits).some(isPhone)) return true;
  return phoneDigits(source).length >= MIN_PHONE_DIGITS ? false : undefined;
}

/** The form that the pairs show together. Ids without letters or leading zeros do not show the notation. */
function formOf(base: Base, pairs: readonly (readonly [receiptId: string, pair: Pair])[]): ReceiptIdForm {
  const rewritten = pairs.filter(([receiptId, { id }]) => receiptId !== id);
  if (rewritten.length === 0) return { base, letters: "kept", width: null };
  const plain: Notation = { letters: "kept", width: 0 };
  return { base, ...rewritten.reduce((before, [, { id }]) => notation(id, before), plain) };
}

type Notation = Pick<ReceiptIdForm, "letters" | "width">;

/** The letter case and the width of ids in responses, as far as this id shows them. */
const notation = (id: string, before: Notation): Notation => ({
  letters: !/[a-z]/i.test(id) ? before.letters : id === id.toLowerCase() ? "lower" : id === id.toUpperCase() ? "upper" : "kept",
  width: /^0./.test(id) ? id.length : before.width,
});

function rewrite(id: string, { base, letters, width }: ReceiptIdForm): string {
  const digits = base === "decimal" && isDecimal(id) ? BigInt(id).toString(16) : base === "hex" && isHex(id) ? hexValue(id) : id;
  const bare = width === null ? digits : digits.replace(/^0+(?=.)/, "").padStart(width, "0");
  return letters === "lower" ? bare.toLowerCase() : letters === "upper" ? bare.toUpperCase() : bare;
}
