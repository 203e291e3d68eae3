import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { optWord } from "./opt-out-words.ts";

/** The list, written down a second time. */
const WORDS = {
  out: ["STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "OPTOUT", "REVOKE", "ARRET"],
  in: ["START", "UNSTOP", "SUBSCRIBE"],
  help: ["HELP", "INFO"],
} as const;

const WAYS: Readonly<Record<string, (word: string) => string>> = {
  "as it is": (word) => word,
  "in small letters": (word) => word.toLowerCase(),
  "with a capital": (word) => word.slice(0, 1) + word.slice(1).toLowerCase(),
  "in letters of both kinds": (word) => [...word].map((letter, index) => (index % 2 === 0 ? letter.toLowerCase() : letter)).join(""),
  "between blanks": (word) => `  ${word}\t `,
  "between line breaks": (word) => `\r\n${word}\n\u2028\u2029`,
  "between blanks of other widths": (word) => `\u00a0\u3000${word}\u2009\u202f\u205f`,
  "with a byte order mark": (word) => `\ufeff${word}`,
  "with marks of no width": (word) => `\u200b\u200e${word}\u200d\u2060\u00ad\u202c`,
  "with control characters, as carriers pad": (word) => `\u001a${word}\0\0`,
};

for (const [kind, words] of Object.entries(WORDS)) {
  for (const word of words) {
    for (const [how, write] of Object.entries(WAYS))
      test(`${word} ${how} is a word of the list`, () => assert.deepEqual(optWord(write(word)), { kind, word }));
  }
}

describe("an ordinary text", () => {
  const TEXTS: Readonly<Record<string, string>> = {
    nothing: "",
    "blanks alone": " \u200b\n",
    "a sentence": "Please stop",
    "a word with a sentence": "STOP writing to me",
    "two words of the list": "STOP STOP",
    "a word with a full stop": "STOP.",
    "a word with an exclamation mark": "Stop!",
    "a word in quotes": '"STOP"',
    "a word with an emoji": "STOP 🛑",
    "a word with a blank in it": "OPT OUT",
    "a word with a hyphen in it": "OPT-OUT",
    "a word with a mark of no width in it": "ST\u200bOP",
    "the French word with its accent": "ARRÊT",
    "the same, of two characters": "ARRE\u0302T",
    "a longer word": "STOPPED",
    "a shorter word": "STO",
    "a number": "1",
    "full-width letters": "ＳＴＯＰ",
    "a long s, which is a capital S in capitals": "ſtop",
    "an i without a dot, which is a capital I in capitals": "quıt",
    "an İ with a dot": "QUİT",
    "Cyrillic letters that look the same": "ЅТОР",
    "a member of every object": "constructor",
  };
  for (const [what, text] of Object.entries(TEXTS)) test(`is ${what}`, () => assert.equal(optWord(text), undefined));
});

test("a long text is read once, also one of almost only white space", () => {
  const begun = performance.now();
  assert.equal(optWord(`${" ".repeat(200_000)}x${" ".repeat(200_000)}y`), undefined);
  assert.deepEqual(optWord(`${" ".repeat(200_000)}stop${" ".repeat(200_000)}`)?.word, "STOP");
  assert.ok(performance.now() - begun < 30_000);
});
