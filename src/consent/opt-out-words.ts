/** The words by which a recipient opts out, opts in again, or asks for help. */

const WORDS = {
  out: ["STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "OPTOUT", "REVOKE", "ARRET"],
  in: ["START", "UNSTOP", "SUBSCRIBE"],
  help: ["HELP", "INFO"],
} as const;

export type OptWord = { kind: keyof typeof WORDS; word: string };

const known = new Map<string, OptWord>();
for (const kind of ["out", "in", "help"] as const) for (const word of WORDS[kind]) known.set(word, { kind, word });

// Letters of the list's own alphabet, in any case, between what does not show: blanks and line breaks of all kinds, control
// characters, and what is of no width. The three parts share no character, so however long a text, it is read once.
const LONE_WORD = /^[\s\p{Cc}\p{Cf}]*([A-Za-z]+)[\s\p{Cc}\p{Cf}]*$/u;

/** The word that is the whole of a text, as the list has it. The list is kept to: what merely resembles a word of it (`STOP.`,
 *  `opt out`, `ARRÊT`, a word in another alphabet that folds to the same letters) is a text like any other, which the account gets
 *  to read, since a guess would silence someone who asked a question, or bring back someone who did not. */
export function optWord(text: string): OptWord | undefined {
  const word = LONE_WORD.exec(text)?.[1];
  return word === undefined ? undefined : known.get(word.toUpperCase());
}
