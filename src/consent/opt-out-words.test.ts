import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { findOptWord, foldWord, toOptWords, type OptKind } from "./opt-out-words.ts";
import { ALWAYS, DEFAULT_LANGUAGES, LANGUAGE_CODES, LANGUAGES } from "./word-lists.ts";

const DEFAULT_OPT_WORDS = toOptWords(DEFAULT_LANGUAGES);

/** The words that no setting removes, written down a second time. */
const WORDS: Readonly<Record<OptKind, readonly string[]>> = {
  out: ["STOP", "QUIT", "END", "REVOKE", "OPTOUT", "CANCEL", "UNSUBSCRIBE", "STOPALL", "STOPPROMOTIONS", "ARRET"],
  in: ["START", "UNSTOP", "SUBSCRIBE"],
  help: ["HELP", "INFO"],
};

const spaced = (word: string, between: string): string => [...word].join(between);
const wide = (word: string): string => String.fromCodePoint(...[...word].map((letter) => (letter.codePointAt(0) ?? 0) + 0xfee0));

const WAYS: Readonly<Record<string, (word: string) => string>> = {
  "in capitals": (word) => word,
  "in small letters": (word) => word.toLowerCase(),
  "with a capital": (word) => word.slice(0, 1) + word.slice(1).toLowerCase(),
  "in letters of both kinds": (word) => [...word].map((letter, index) => (index % 2 === 0 ? letter.toLowerCase() : letter)).join(""),
  "in full-width letters": wide,
  "with a full stop": (word) => `${word}.`,
  "with exclamation marks": (word) => `¡${word}!!!`,
  "with a comma of another script": (word) => `${word}、`,
  "in quotes": (word) => `“${word}”`,
  "with an emoji": (word) => `${word} 🛑🙏🏽`,
  "with a hyphen": (word) => spaced(word, "-"),
  "with blanks in it": (word) => spaced(word, " "),
  "with marks of no width in it": (word) => spaced(word, "\u200b"),
  "with an accent of its own character": (word) => `${word.slice(0, 2)}\u0302${word.slice(2)}`,
  "between blanks": (word) => `  ${word}\t `,
  "between line breaks": (word) => `\r\n${word}\n\u2028\u2029`,
  "between blanks of other widths": (word) => `\u00a0\u3000${word}\u2009\u202f\u205f`,
  "with a byte order mark": (word) => `\ufeff${word}`,
  "with control characters, as carriers pad": (word) => `\u001a${word}\0\0`,
};

for (const [kind, words] of Object.entries(WORDS)) {
  for (const word of words) {
    for (const [how, write] of Object.entries(WAYS))
      test(`${word} ${how} is a word of the list`, () => assert.deepEqual(findOptWord(write(word), DEFAULT_OPT_WORDS), { kind, word }));
  }
}

for (const [text, word] of Object.entries({
  "opt out": "OPTOUT",
  "OPT-OUT": "OPTOUT",
  "Stop.": "STOP",
  "STOP ALL": "STOPALL",
  "Parar promoções": "PARARPROMOCOES",
  "Detener promociones": "DETENERPROMOCIONES",
  "Interrompi promozioni": "INTERROMPIPROMOZIONI",
  ARRÊT: "ARRET",
  quıt: "QUIT",
  QUİT: "QUIT",
  "Arrêtez !": "ARRETEZ",
  Désabonnement: "DESABONNEMENT",
  "darme de baja": "DARMEDEBAJA",
  стоп: "СТОП",
  أوقف: "اوقف",
  वंद: undefined,
  "बंद करें": "बंदकरें",
}))
  test(`${text} is ${word === undefined ? "an ordinary text" : `the opt-out word ${word}`}`, () =>
    assert.deepEqual(findOptWord(text, DEFAULT_OPT_WORDS), word === undefined ? undefined : { kind: "out", word: foldWord(word) }));

describe("an ordinary text", () => {
  const TEXTS: Readonly<Record<string, string>> = {
    nothing: "",
    "blanks alone": " \u200b\n",
    "punctuation alone": "...!?",
    "a sentence": "Please stop",
    "a word with a sentence": "STOP writing to me",
    "two words of the list": "STOP CANCEL",
    "a longer word": "STOPPED",
    "a shorter word": "STO",
    "a number": "1",
    "a word for no": "Nein",
    "a word for the end in French and Spanish": "Fin",
    "a word for cancel in Spanish": "Cancelar",
    "a color that opts out in Turkish": "Red",
    "Cyrillic letters that look like Latin ones": "ЅТОР",
    "another vowel sign of the Hindi word": "रोकी",
    "a member of every object": "constructor",
  };
  for (const [what, text] of Object.entries(TEXTS)) test(`is ${what}`, () => assert.equal(findOptWord(text, DEFAULT_OPT_WORDS), undefined));
});

describe("the lists", () => {
  test("have every word of every language as it is written, by the same kind", () => {
    for (const language of LANGUAGE_CODES)
      for (const kind of ["out", "in", "help"] as const)
        for (const word of LANGUAGES[language][kind])
          assert.equal(findOptWord(word, toOptWords([language]))?.kind, kind, `${language} ${word}`);
  });

  test("give no word two kinds, in all languages together", () => {
    const kinds = new Map<string, string>();
    for (const list of [ALWAYS, ...Object.values(LANGUAGES)])
      for (const kind of ["out", "in", "help"] as const)
        for (const word of list[kind]) {
          assert.equal(kinds.get(foldWord(word)) ?? kind, kind, word);
          kinds.set(foldWord(word), kind);
        }
  });

  test("leave Turkish to the account, and have all other languages", () => {
    assert.deepEqual(
      LANGUAGE_CODES.filter((language) => !DEFAULT_LANGUAGES.includes(language)),
      ["tr"],
    );
    assert.equal(findOptWord("ret", toOptWords(["tr"]))?.kind, "out");
  });

  test("keep the words that are always on without any language", () => {
    for (const word of WORDS.out) assert.equal(findOptWord(word, toOptWords([]))?.kind, "out");
    assert.equal(findOptWord("стоп", toOptWords([])), undefined);
  });

  test("let an opt-out win where a further word has two kinds", () => {
    assert.equal(findOptWord("weg", toOptWords([], { out: ["Weg"], in: ["weg!"], help: ["WEG"] }))?.kind, "out");
    assert.equal(findOptWord("stop", toOptWords([], { in: ["stop"] }))?.kind, "out");
  });
});

test("a text of more than 100 characters between white space is no word, whatever it consists of", () => {
  assert.equal(findOptWord(`${" ".repeat(50_000)}stop${"\n".repeat(50_000)}`, DEFAULT_OPT_WORDS)?.word, "STOP");
  assert.equal(findOptWord(`${".".repeat(96)}stop`, DEFAULT_OPT_WORDS)?.word, "STOP");
  assert.equal(findOptWord(`${".".repeat(97)}stop`, DEFAULT_OPT_WORDS), undefined);
  // The letter that becomes longest in the decomposition.
  assert.equal(findOptWord("\ufdfa".repeat(400_000), DEFAULT_OPT_WORDS), undefined);
});
