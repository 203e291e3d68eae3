/** The words by which a recipient opts out, opts in again, or asks for help: recognizes a text that is such a word. */
import { ALWAYS, LANGUAGE_CODES, LANGUAGES, type Language, type WordList } from "./word-lists.ts";

export type OptKind = keyof WordList;
/** `word` is in the form in which words are compared. */
export type OptWord = { kind: OptKind; word: string };
/** The kinds of words in the form in which they are compared. */
export type OptWords = ReadonlyMap<string, OptKind>;

/** The kinds in the order in which they are read. A word that several lists contain opts out. */
const KINDS = ["help", "in", "out"] as const satisfies readonly OptKind[];

// No word of a list is nearly as long. Normalization makes a text up to 18 times as long.
const MAX_TEXT = 100;

/** Everything but letters, digits and the vowel signs of Indic scripts: accents, which are characters of their own after the
 *  decomposition, marks of Arabic, white space, punctuation, symbols, and characters without width. */
const IGNORED = /[\p{Script=Inherited}\p{C}\p{P}\p{S}\p{Z}]/gu;

/** The form in which words are compared. Empty for a text without letters. Upper case is the wider folding: it unites `ß` with `ss`, and the
 *  letter `i` with and without a dot. */
export const foldWord = (text: string): string => text.normalize("NFKD").toUpperCase().replaceAll(IGNORED, "");

const foldList = ({ out = [], in: again = [], help = [] }: Partial<WordList>): WordList => ({
  out: out.map(foldWord),
  in: again.map(foldWord),
  help: help.map(foldWord),
});

// Folded once: every inbound message needs the words of its account.
const FOLDED_ALWAYS = foldList(ALWAYS);
const FOLDED = new Map<Language, WordList>(LANGUAGE_CODES.map((language) => [language, foldList(LANGUAGES[language])]));

/** The words of the lists of some languages, and further words. English, and every word that is always on, is part of the result. */
export function toOptWords(languages: readonly Language[], further: Partial<WordList> = {}): OptWords {
  const lists = [...languages.flatMap((language) => FOLDED.get(language) ?? []), foldList(further), FOLDED_ALWAYS];
  const words = new Map<string, OptKind>();
  for (const kind of KINDS) for (const list of lists) for (const word of list[kind]) words.set(word, kind);
  return words;
}

/** Returns the word that is the whole text, apart from case, accents, width, punctuation and white space. A longer text is an
 *  ordinary message for the account: a guess could opt out a person who asked a question, or opt in a person who did not ask. */
export function findOptWord(text: string, words: OptWords): OptWord | undefined {
  const trimmed = text.trim();
  if (trimmed.length > MAX_TEXT) return undefined;
  const word = foldWord(trimmed);
  const kind = words.get(word);
  return kind && { kind, word };
}
