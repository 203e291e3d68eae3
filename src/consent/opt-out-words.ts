/** The words by which a recipient opts out, opts in again, or asks for help. */

const WORDS = {
  out: ["STOP", "STOPALL", "UNSUBSCRIBE", "CANCEL", "END", "QUIT", "OPTOUT", "REVOKE", "ARRET"],
  in: ["START", "UNSTOP", "SUBSCRIBE"],
  help: ["HELP", "INFO"],
} as const;

export type OptWord = { kind: keyof typeof WORDS; word: string };

const known = new Map<string, OptWord>();
for (const kind of ["out", "in", "help"] as const) for (const word of WORDS[kind]) known.set(word, { kind, word });

// Latin letters in any case, between invisible characters: white space, control characters and characters without width. The three parts
// share no character, so that a text of any length is read once.
const LONE_WORD = /^[\s\p{Cc}\p{Cf}]*([A-Za-z]+)[\s\p{Cc}\p{Cf}]*$/u;

/** Returns the word of the list that is the whole text. Only exact words count. A text that resembles a word (`STOP.`, `opt out`, `ARRÊT`,
 *  a word in another alphabet that folds to the same letters) is an ordinary message for the account: a guess could opt out a person
 *  who asked a question, or opt in a person who did not ask. */
export function optWord(text: string): OptWord | undefined {
  const word = LONE_WORD.exec(text)?.[1];
  return word === undefined ? undefined : known.get(word.toUpperCase());
}
