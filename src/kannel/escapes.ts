/** Kannel's escapes: a percent sign and a letter in a URL, which stand for a value of a message or a report. */

/** The values that escapes can have, as Kannel's record of a message has them. Text is in the bytes that Kannel would have. */
export type EscapeValues = {
  /** The phone, and the number or name on our side. */
  phone: string;
  other: string;
  /** The bytes of the text. */
  text: Buffer;
  coding: number;
  charset: string;
  dlrType: number;
  timeMs: number;
  smscId: string;
  foreignId: string;
  id: string;
  service: string;
  account: string;
  metaData: string;
  dlrUrl: string;
};

const UNDEFINED = "-1";
// Twice as long as a URL with escapes may be, and longer than servers accept.
const MAX_FILLED = 8_192;

/** Fills in the escapes of a URL. Undefined if the result is too long. */
export function fillEscapes(pattern: string, values: EscapeValues): string | undefined {
  const words = splitWords(values.text);
  let nextWord = 1;
  const next = (): string => {
    const word = words[nextWord];
    if (word === undefined) return "";
    nextWord += 1;
    return encodeBytes(word);
  };
  const filled = pattern.replaceAll(/%#([^#]*)#([^#]*)#|%([\s\S])/g, (found, group: string | undefined, name: string, letter: string) => {
    if (group !== undefined) return encode(metaValue(values.metaData, group, name));
    switch (letter) {
      case "s":
        return next();
      case "r":
        return words.slice(nextWord).map(encodeBytes).join("+");
      default:
        return valueOf(letter, values, words) ?? found;
    }
  });
  return filled.length > MAX_FILLED ? undefined : filled;
}

/** The value of an escape. Undefined: no escape, so the text stays. */
function valueOf(letter: string, values: EscapeValues, words: readonly Buffer[]): string | undefined {
  switch (letter) {
    case "%":
      return "%";
    case "a":
      return words.map(encodeBytes).join("+");
    case "A":
    case "b":
      return encodeBytes(values.text);
    case "k":
      return words[0] === undefined ? "" : encodeBytes(words[0]);
    case "e":
      return values.text.toString("hex").toUpperCase();
    case "c":
      return String(values.coding);
    case "C":
      return values.charset;
    case "d":
      return encode(String(values.dlrType));
    case "D":
      return encode(values.metaData);
    case "F":
      return encode(values.foreignId);
    case "i":
      return encode(values.smscId);
    case "I":
      return values.id;
    case "m":
    case "M":
      return UNDEFINED;
    case "n":
      return encode(values.service);
    case "o":
      return encode(values.account);
    case "O":
      return values.coding === 2 ? "08" : "00";
    case "p":
      return encode(values.phone);
    case "P":
      return encode(values.other);
    case "q":
      return encode(withPlus(values.phone));
    case "Q":
      return encode(withPlus(values.other));
    case "R":
      return encode(values.dlrUrl);
    case "t":
      return kannelTime(values.timeMs).replace(" ", "+");
    case "T":
      return String(Math.floor(values.timeMs / 1_000));
    // No message here has billing information, the number of an SMSC, a user data header, or a validity and a deferral of its own.
    case "B":
    case "f":
    case "u":
    case "v":
    case "V":
      return "";
    default:
      return undefined;
  }
}

const withPlus = (number: string): string => (number.startsWith("00") ? `+${number.slice(2)}` : number);

/** A time in UTC, such as `2026-11-19 10:30:00`. */
export const kannelTime = (timeMs: number): string => new Date(timeMs).toISOString().slice(0, 19).replace("T", " ");

const encode = (text: string): string => encodeBytes(Buffer.from(text));

/** The bytes that need no escape in Kannel's URLs. */
const SAFE = /[A-Za-z0-9_.~-]/;

/** Encodes as a form does: a space becomes a plus sign. */
function encodeBytes(bytes: Buffer): string {
  let text = "";
  for (const byte of bytes) {
    const character = String.fromCharCode(byte);
    if (byte === 0x20) text += "+";
    else text += SAFE.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return text;
}

const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** Splits bytes at white space, as Kannel does whatever their charset. */
function splitWords(text: Buffer): Buffer[] {
  const words: Buffer[] = [];
  let start = -1;
  for (let at = 0; at <= text.length; at += 1) {
    const isEnd = at === text.length || isSpace(text.readUInt8(at));
    if (!isEnd && start === -1) start = at;
    if (!isEnd || start === -1) continue;
    words.push(text.subarray(start, at));
    start = -1;
  }
  return words;
}

/** A value of Kannel's meta-data, such as `?group?name=value&other=value`. */
function metaValue(metaData: string, group: string, name: string): string {
  const start = metaData.indexOf(`?${group}?`);
  if (start === -1) return "";
  const [part = ""] = metaData.slice(start + group.length + 2).split("?", 1);
  return new URLSearchParams(part).get(name) ?? "";
}
