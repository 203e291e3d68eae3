/** The GSM 03.38 alphabet: characters of one septet, and of two. National languages replace one of its tables, or both. */
import { BoundedMap } from "../lib/bounded-map.ts";
import { NATIONAL_LANGUAGES, NATIONAL_TABLES, type CodeTable, type NationalLanguage } from "./national-alphabets.ts";

const BASIC =
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
const EXTENDED = "\f^{}\\[~]|€";

const escapeClass = (characters: string): string => characters.replaceAll(/[\]\\^-]/g, "\\$&");

const ONLY_GSM7 = new RegExp(`^[${escapeClass(BASIC)}${escapeClass(EXTENDED)}]*$`);
const ANY_EXTENDED = new RegExp(`[${escapeClass(EXTENDED)}]`);
const extended = new Set(EXTENDED);

export const isGsm7 = (text: string): boolean => ONLY_GSM7.test(text);
export const hasExtended = (text: string): boolean => ANY_EXTENDED.test(text);

/** How many septets a character of the alphabet takes. */
export const septets = (character: string): 1 | 2 => (extended.has(character) ? 2 : 1);

const ESCAPE = 0x1b;
// The codes of the extension's characters, in the order of EXTENDED.
const EXTENDED_CODES = [0x0a, 0x14, 0x28, 0x29, 0x2f, 0x3c, 0x3d, 0x3e, 0x40, 0x65];

/** The escape is not a character, so the codes of the characters after it are one higher than their index. */
const basicCode = (index: number): number => (index < ESCAPE ? index : index + 1);

const codes = new Map<string, readonly number[]>([
  ...Array.from(BASIC, (character, index) => [character, [basicCode(index)]] as const),
  ...Array.from(EXTENDED, (character, index) => [character, [ESCAPE, EXTENDED_CODES[index] ?? 0]] as const),
]);
const basicCharacters = new Map(Array.from(BASIC, (character, index) => [basicCode(index), character]));
const extendedCharacters = new Map(Array.from(EXTENDED, (character, index) => [EXTENDED_CODES[index] ?? 0, character]));

/** The languages of the tables of a text. Without one, the table is that of the GSM alphabet. */
export type Shifts = { locking?: NationalLanguage | undefined; single?: NationalLanguage | undefined };

type Tables = { basic: CodeTable; extension: CodeTable; codes: ReadonlyMap<string, readonly number[]> };

const DEFAULT_TABLES: Tables = { basic: basicCharacters, extension: extendedCharacters, codes };
const shifted = new BoundedMap<string, Tables>((NATIONAL_LANGUAGES.length + 1) ** 2);

function tablesOf({ locking, single }: Shifts): Tables {
  if (locking === undefined && single === undefined) return DEFAULT_TABLES;
  const key = `${locking} ${single}`;
  const known = shifted.get(key);
  if (known !== undefined) return known;
  const lockingTable = locking && NATIONAL_TABLES[locking].locking;
  // The tables of European languages have only what differs.
  const isWhole = lockingTable !== undefined && lockingTable.size > basicCharacters.size / 2;
  const basic = new Map([...(isWhole ? [] : basicCharacters), ...(lockingTable ?? [])]);
  const extension = single === undefined ? extendedCharacters : NATIONAL_TABLES[single].single;
  // A character of both tables takes one septet, from the basic one.
  const all = new Map<string, readonly number[]>([
    ...Array.from(extension, ([code, character]) => [character, [ESCAPE, code]] as const),
    ...Array.from(basic, ([code, character]) => [character, [code]] as const),
  ]);
  const tables = { basic, extension, codes: all };
  shifted.set(key, tables);
  return tables;
}

/** The septets that a character takes with these tables; undefined if they lack it. */
export const shiftedSeptets = (character: string, shifts: Shifts): number | undefined => tablesOf(shifts).codes.get(character)?.length;

/** Encodes one septet in each byte. A character outside the alphabet becomes a question mark. */
export function toGsm7(text: string, shifts: Shifts = {}): Buffer {
  const tables = tablesOf(shifts);
  return Buffer.from(Array.from(text, (character) => tables.codes.get(character) ?? [0x3f]).flat());
}

/** Decodes one septet from each byte. A code that the extension lacks is read from the basic table, as the standard prescribes. An
 *  escape at the end is a space. */
export function fromGsm7(bytes: Uint8Array, shifts: Shifts = {}): string {
  const { basic, extension } = tablesOf(shifts);
  let text = "";
  for (let at = 0; at < bytes.length; at += 1) {
    const code = (bytes[at] ?? 0) & 0x7f;
    if (code !== ESCAPE) {
      text += basic.get(code) ?? " ";
      continue;
    }
    at += 1;
    const escaped = (bytes[at] ?? ESCAPE) & 0x7f;
    text += extension.get(escaped) ?? basic.get(escaped) ?? " ";
  }
  return text;
}
