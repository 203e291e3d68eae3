/** One form for the carrier's ids. Many write an id in one way in the answer and in another in the receipt: hexadecimal and
 *  decimal, letters in another case, zeros before it or none. The form of the answer is the one that is on record, so the
 *  receipt's is turned into it: as learnt from the first pair that can mean only one thing, or as the link is told. */
import type { Receipt } from "../provider.ts";
import type { ReceiptIds } from "./settings.ts";

// Receipts mostly come within seconds of the answer: this is some minutes of a busy link.
const MAX_RECENT = 10_000;
// Receipts that came before the form was known, to be passed once more when it is.
const MAX_STRANGERS = 1_000;
// So many receipts in a row that fit another form, and not ours, mean that the carrier has changed it.
const CHANGED_AFTER = 5;

/** How the number in a receipt is to be read, against that of the answer. */
type Base = "same" | "decimal" | "hex";
type Form = {
  base: Base;
  letters: "lower" | "upper" | "kept";
  /** As many digits as the answer has, filled up with zeros; 0: none before it; null: as they come. */
  width: number | null;
};

const isDecimal = (id: string): boolean => /^\d{1,65}$/.test(id);
const isHex = (id: string): boolean => /^[0-9a-f]{1,65}$/i.test(id);
const folded = (id: string): string => id.toLowerCase().replace(/^0+(?=.)/, "");
const decimalValue = (id: string): string => BigInt(id).toString();
const hexValue = (id: string): string => BigInt(`0x${id}`).toString();

/** Under what an answer's id can be found. */
const keysOf = (id: string): string[] => [
  `same ${folded(id)}`,
  ...(isDecimal(id) ? [`hex ${decimalValue(id)}`] : []),
  ...(isHex(id) ? [`decimal ${hexValue(id)}`] : []),
];

/** Under what the answer's id of a receipt would be found: in its own base, and in the two others it may be written in. */
const soughtBy = (id: string): [base: Base, key: string][] => [
  ["same", `same ${folded(id)}`],
  ...(isDecimal(id) ? ([["decimal", `decimal ${decimalValue(id)}`]] as [Base, string][]) : []),
  ...(isHex(id) ? ([["hex", `hex ${hexValue(id)}`]] as [Base, string][]) : []),
];

export class MessageIds {
  readonly #isLearning: boolean;
  readonly #onLearnt: (again: readonly Receipt[]) => void;
  readonly #recent = new Set<string>();
  readonly #byKey = new Map<string, string>();
  readonly #strangers = new Map<string, Receipt[]>();
  #strangerCount = 0;
  #form: Form | undefined;
  #contradictions = 0;

  /** `onLearnt` gets the receipts that were named in the carrier's form until now, in ours. */
  constructor(receiptIds: ReceiptIds, onLearnt: (again: readonly Receipt[]) => void) {
    this.#isLearning = receiptIds === "learn";
    this.#onLearnt = onLearnt;
    if (receiptIds !== "learn") this.#form = { base: receiptIds, letters: receiptIds === "decimal" ? "lower" : "kept", width: null };
  }

  /** An id that an answer gave. */
  remember(id: string): void {
    if (this.#recent.has(id)) return;
    if (this.#recent.size >= MAX_RECENT) for (const oldest of this.#recent.values().take(1)) this.#forget(oldest);
    this.#recent.add(id);
    for (const key of keysOf(id)) this.#byKey.set(key, id);
    // A form that the link was told leaves open how the carrier writes letters: its answers show that.
    if (!this.#isLearning && this.#form !== undefined && this.#form.base !== "same")
      this.#form = { ...this.#form, ...writingOf(id, this.#form) };
    if (this.#form === undefined) this.#learnFromStrangers(id);
  }

  /** The receipt, with its id in the form of the answers. */
  named(receipt: Receipt): Receipt {
    const id = receipt.providerMessageId;
    if (id === null) return receipt;
    const match = this.#match(id);
    if (this.#form === undefined) {
      if (match === undefined) return this.#keepStranger(id, receipt);
      this.#learn(formOf(id, match));
      return { ...receipt, providerMessageId: match.id };
    }
    if (this.#isLearning) this.#doubt(id, match);
    return { ...receipt, providerMessageId: this.#translate(id, this.#form) };
  }

  /** The one answer that this can be about. */
  #match(id: string): { base: Base; id: string } | undefined {
    const found = soughtBy(id).flatMap(([base, key]) => {
      const answer = this.#byKey.get(key);
      return answer === undefined ? [] : [{ base, id: answer }];
    });
    return new Set(found.map((each) => each.id)).size === 1 ? found[0] : undefined;
  }

  /** What is remembered is written as it was, whatever zeros it has. */
  #translate(id: string, form: Form): string {
    const key = soughtBy(id).find(([base]) => base === form.base)?.[1];
    return (key === undefined ? undefined : this.#byKey.get(key)) ?? rewrite(id, form);
  }

  #doubt(id: string, match: { base: Base; id: string } | undefined): void {
    if (match === undefined) return;
    if (match.base === this.#form?.base) this.#contradictions = 0;
    else this.#contradictions += 1;
    if (this.#contradictions >= CHANGED_AFTER) this.#learn(formOf(id, match));
  }

  #keepStranger(id: string, receipt: Receipt): Receipt {
    if (this.#strangerCount >= MAX_STRANGERS) return receipt;
    this.#strangerCount += 1;
    this.#strangers.set(id, [...(this.#strangers.get(id) ?? []), receipt]);
    return receipt;
  }

  /** A receipt may be quicker than its answer. */
  #learnFromStrangers(answer: string): void {
    const keys = new Set(keysOf(answer));
    const found = Array.from(this.#strangers.keys()).filter((id) => soughtBy(id).some(([, key]) => keys.has(key)));
    const [only] = found;
    const match = found.length === 1 && only !== undefined ? this.#match(only) : undefined;
    if (only !== undefined && match !== undefined) this.#learn(formOf(only, match));
  }

  #learn(form: Form): void {
    this.#form = form;
    this.#contradictions = 0;
    const again = Array.from(this.#strangers.values())
      .flat()
      .map((receipt) => ({ receipt, id: this.#translate(receipt.providerMessageId ?? "", form) }))
      .filter(({ receipt, id }) => id !== receipt.providerMessageId)
      .map(({ receipt, id }) => ({ ...receipt, providerMessageId: id }));
    this.#strangers.clear();
    this.#strangerCount = 0;
    if (again.length > 0) this.#onLearnt(again);
  }

  #forget(id: string): void {
    this.#recent.delete(id);
    for (const key of keysOf(id)) if (this.#byKey.get(key) === id) this.#byKey.delete(key);
  }
}

function formOf(receiptId: string, { base, id }: { base: Base; id: string }): Form {
  if (receiptId === id) return { base: "same", letters: "kept", width: null };
  return { base, ...writingOf(id, { letters: "kept", width: 0 }) };
}

/** How the carrier writes an id in its answers, as far as this one shows it. */
const writingOf = (id: string, before: Pick<Form, "letters" | "width">): Pick<Form, "letters" | "width"> => ({
  letters: !/[a-z]/i.test(id) ? before.letters : id === id.toLowerCase() ? "lower" : id === id.toUpperCase() ? "upper" : "kept",
  width: /^0./.test(id) ? id.length : before.width,
});

function rewrite(id: string, { base, letters, width }: Form): string {
  const digits = base === "decimal" && isDecimal(id) ? BigInt(id).toString(16) : base === "hex" && isHex(id) ? hexValue(id) : id;
  const bare = width === null ? digits : digits.replace(/^0+(?=.)/, "").padStart(width, "0");
  return letters === "lower" ? bare.toLowerCase() : letters === "upper" ? bare.toUpperCase() : bare;
}
