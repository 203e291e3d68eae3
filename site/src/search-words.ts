/** The words of a search: their stems, the words without a meaning of their own, and the terms of these pages for the words of a reader. */

/** Words of a question that do not help to find its answer. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    "a about after all am an and any are as at be been before but by can could did do does for from had has have how i if in into is it its " +
    "just may me my not of off on or our out should so than that the their them then there they this to up us was we were what when where " +
    "which while who will with would you your"
  ).split(" "),
);

const IRREGULAR: ReadonlyMap<string, string> = new Map([
  ["kept", "keep"],
  ["sent", "send"],
  ["lost", "lose"],
  ["paid", "pay"],
  ["chosen", "choose"],
  ["written", "write"],
]);

/** Removes common endings of English: plurals, -ed, -ing and a final e. */
export function stem(word: string): string {
  const lower = word.toLowerCase();
  const known = IRREGULAR.get(lower);
  if (known !== undefined) return known.replace(/e$/, "");
  if (lower.length < 4 || !/^[a-z]+$/.test(lower)) return lower;
  const singular = lower
    .replace(/ies$/, "y")
    .replace(/(ss|x|ch|sh)es$/, "$1")
    .replace(/([^sui])s$/, "$1");
  const base = singular.replace(/(?<=[aeiouy].*[a-z])(?:ed|ing)$/, "");
  // "stopped" and "stop", but "billing" and "bill".
  const single = base === singular ? base : base.replace(/([bdgmnprt])\1$/, "$1");
  return single.length > 3 ? single.replace(/e$/, "") : single;
}

/** For words of readers, the phrases of these pages. All words of a phrase have to match. An entry of several words is for questions that have
 *  all of them. */
const PHRASES: Readonly<Record<string, readonly string[]>> = {
  gdpr: ["recipients erasure", "retention"],
  privacy: ["recipients erasure", "retention"],
  personal: ["recipients erasure"],
  delete: ["recipients erasure", "retention"],
  forget: ["recipients erasure"],
  keep: ["retention"],
  duplicate: ["idempotency"],
  twice: ["idempotency"],
  stop: ["opt-out words", "opt-outs"],
  unsubscribe: ["opt-out words", "opt-outs"],
  price: ["usage", "segments"],
  cost: ["price", "usage", "segments"],
  billing: ["usage", "segments"],
  "2fa": ["verifications"],
  otp: ["verifications", "login codes"],
  delivered: ["undelivered failed"],
  throttle: ["rate limits"],
  callback: ["webhooks"],
  dlr: ["delivery receipts"],
  tenant: ["account"],
  customer: ["recipients", "account"],
  mms: ["media"],
  image: ["media"],
  photo: ["media"],
  ssl: ["tls"],
  failover: ["high availability"],
  cluster: ["high availability"],
  bulk: ["batches"],
  why: ["troubleshooting"],
  pagination: ["lists"],
  paging: ["lists"],
  unicode: ["segments of an sms"],
  blocked: ["suppressions", "error codes of messages"],
  "environment variables": ["settings"],
  "country allowed": ["destination permitted"],
  "short code": ["senders"],
  "character limit": ["segments of an sms"],
  "message length": ["segments of an sms"],
  "delivery report": ["receipts"],
  "api key": ["authentication"],
};

type Entry = { stems: readonly string[]; phrases: readonly string[] };

const ENTRIES: readonly Entry[] = Object.entries(PHRASES).map(([words, phrases]) => ({ stems: words.split(" ").map(stem), phrases }));

/** The entries for the words of a question. */
export function entriesFor(words: readonly string[]): Entry[] {
  const stems = new Set(words.map(stem));
  return ENTRIES.filter((entry) => entry.stems.every((each) => stems.has(each)));
}
