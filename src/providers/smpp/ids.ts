/** One form for carrier ids. Many carriers write an id in the receipt differently from the response: decimal for hexadecimal, letters in
 *  the other case, with or without leading zeros. The form of the response is stored, so the id of a receipt is converted into that
 *  form. The conversion is set in the link's settings, or learnt from the first receipt that can belong to only one response. */
import type { Receipt } from "../provider.ts";
import type { ReceiptIds } from "./settings.ts";

// Receipts mostly come within seconds of the response. This number covers some minutes of a busy link.
const MAX_RECENT = 10_000;
// Receipts that came before the form was known. They are forwarded again when it is.
const MAX_UNMATCHED = 1_000;
// After this number of receipts in a row that fit only another form, the carrier has changed its form.
const CHANGED_AFTER = 5;

/** The base of the number in a receipt, relative to the response. */
type Base = "same" | "decimal" | "hex";
type IdForm = {
  base: Base;
  letters: "lower" | "upper" | "kept";
  /** The number of digits in a response, with leading zeros; 0: no leading zeros; null: unchanged. */
  width: number | null;
};

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

export class MessageIds {
  readonly #isLearning: boolean;
  readonly #onLearnt: (receipts: readonly Receipt[]) => void;
  readonly #recent = new Set<string>();
  readonly #byKey = new Map<string, string>();
  readonly #unmatched = new Map<string, Receipt[]>();
  #unmatchedCount = 0;
  #form: IdForm | undefined;
  #contradictions = 0;

  /** `onLearnt` gets the receipts that were forwarded unconverted before the form was known, with converted ids. */
  constructor(receiptIds: ReceiptIds, onLearnt: (receipts: readonly Receipt[]) => void) {
    this.#isLearning = receiptIds === "learn";
    this.#onLearnt = onLearnt;
    if (receiptIds !== "learn") this.#form = { base: receiptIds, letters: receiptIds === "decimal" ? "lower" : "kept", width: null };
  }

  /** Adds the id of a response. */
  remember(id: string): void {
    if (this.#recent.has(id)) return;
    if (this.#recent.size >= MAX_RECENT) for (const oldest of this.#recent.values().take(1)) this.#forget(oldest);
    this.#recent.add(id);
    for (const key of responseKeys(id)) this.#byKey.set(key, id);
    // The setting does not define the letter case and the leading zeros: the responses show both.
    if (!this.#isLearning && this.#form !== undefined && this.#form.base !== "same")
      this.#form = { ...this.#form, ...notation(id, this.#form) };
    if (this.#form === undefined) this.#learnFromUnmatched(id);
  }

  /** Returns the receipt with its id in the form of the responses. */
  normalize(receipt: Receipt): Receipt {
    const id = receipt.providerMessageId;
    if (id === null) return receipt;
    const match = this.#match(id);
    if (this.#form === undefined) {
      if (match === undefined) return this.#keepUnmatched(id, receipt);
      this.#learn(learnForm(id, match));
      return { ...receipt, providerMessageId: match.id };
    }
    if (this.#isLearning) this.#checkForm(id, match);
    return { ...receipt, providerMessageId: this.#translate(id, this.#form) };
  }

  /** The response that the id belongs to, if there is exactly one. */
  #match(id: string): { base: Base; id: string } | undefined {
    const found = receiptKeys(id).flatMap(([base, key]) => {
      const responseId = this.#byKey.get(key);
      return responseId === undefined ? [] : [{ base, id: responseId }];
    });
    return new Set(found.map((each) => each.id)).size === 1 ? found[0] : undefined;
  }

  /** Converts an id. The id of a recent response is returned unchanged, with its own leading zeros. */
  #translate(id: string, form: IdForm): string {
    const key = receiptKeys(id).find(([base]) => base === form.base)?.[1];
    return (key === undefined ? undefined : this.#byKey.get(key)) ?? rewrite(id, form);
  }

  /** Replaces the learnt form after enough receipts that contradict it. */
  #checkForm(id: string, match: { base: Base; id: string } | undefined): void {
    if (match === undefined) return;
    if (match.base === this.#form?.base) this.#contradictions = 0;
    else this.#contradictions += 1;
    if (this.#contradictions >= CHANGED_AFTER) this.#learn(learnForm(id, match));
  }

  #keepUnmatched(id: string, receipt: Receipt): Receipt {
    if (this.#unmatchedCount >= MAX_UNMATCHED) return receipt;
    this.#unmatchedCount += 1;
    this.#unmatched.set(id, [...(this.#unmatched.get(id) ?? []), receipt]);
    return receipt;
  }

  /** Learns from a receipt that came before its response. */
  #learnFromUnmatched(responseId: string): void {
    const keys = new Set(responseKeys(responseId));
    const found = Array.from(this.#unmatched.keys()).filter((id) => receiptKeys(id).some(([, key]) => keys.has(key)));
    const [only] = found;
    const match = found.length === 1 && only !== undefined ? this.#match(only) : undefined;
    if (only !== undefined && match !== undefined) this.#learn(learnForm(only, match));
  }

  #learn(form: IdForm): void {
    this.#form = form;
    this.#contradictions = 0;
    const converted = Array.from(this.#unmatched.values())
      .flat()
      .map((receipt) => ({ receipt, id: this.#translate(receipt.providerMessageId ?? "", form) }))
      .filter(({ receipt, id }) => id !== receipt.providerMessageId)
      .map(({ receipt, id }) => ({ ...receipt, providerMessageId: id }));
    this.#unmatched.clear();
    this.#unmatchedCount = 0;
    if (converted.length > 0) this.#onLearnt(converted);
  }

  #forget(id: string): void {
    this.#recent.delete(id);
    for (const key of responseKeys(id)) if (this.#byKey.get(key) === id) this.#byKey.delete(key);
  }
}

function learnForm(receiptId: string, { base, id }: { base: Base; id: string }): IdForm {
  if (receiptId === id) return { base: "same", letters: "kept", width: null };
  return { base, ...notation(id, { letters: "kept", width: 0 }) };
}

/** The letter case and the width of ids in responses, as far as this id shows them. */
const notation = (id: string, before: Pick<IdForm, "letters" | "width">): Pick<IdForm, "letters" | "width"> => ({
  letters: !/[a-z]/i.test(id) ? before.letters : id === id.toLowerCase() ? "lower" : id === id.toUpperCase() ? "upper" : "kept",
  width: /^0./.test(id) ? id.length : before.width,
});

function rewrite(id: string, { base, letters, width }: IdForm): string {
  const digits = base === "decimal" && isDecimal(id) ? BigInt(id).toString(16) : base === "hex" && isHex(id) ? hexValue(id) : id;
  const bare = width === null ? digits : digits.replace(/^0+(?=.)/, "").padStart(width, "0");
  return letters === "lower" ? bare.toLowerCase() : letters === "upper" ? bare.toUpperCase() : bare;
}
