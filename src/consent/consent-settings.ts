/** The consent settings of an environment: the languages and further words of opt-outs, and the texts of automatic replies. Their members in
 *  the API, in the configuration file and in the database are the same. */
import type { Fault } from "../http/problem.ts";
import { nullable, oneOf, optional, timestamp, Type, type Static } from "../http/schema.ts";
import { compile } from "../http/validate.ts";
import { isoTime } from "../lib/time.ts";
import { asObject } from "../providers/carrier-fields.ts";
import { ENVIRONMENTS, type Environment } from "../model/owner.ts";
import { foldWord, toOptWords, type OptKind, type OptWords } from "./opt-out-words.ts";
import { DEFAULT_LANGUAGES, LANGUAGE_CODES } from "./word-lists.ts";

const MAX_WORDS = 50;
const MAX_WORD_LENGTH = 40;
// Three parts of an SMS in the GSM alphabet.
const MAX_REPLY_LENGTH = 480;

const languages = Type.Array(oneOf(LANGUAGE_CODES), {
  maxItems: LANGUAGE_CODES.length,
  uniqueItems: true,
  description: "The languages whose built-in words are recognized, in addition to English.",
});
const words = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: MAX_WORD_LENGTH }), { maxItems: MAX_WORDS, uniqueItems: true, description });
const lists = {
  opt_out_words: words("Further words that opt out."),
  opt_in_words: words("Further words that opt in again."),
  help_words: words("Further words that request help."),
};
const reply = (description: string) => nullable(Type.String({ minLength: 1, maxLength: MAX_REPLY_LENGTH, description }));
const replies = {
  opt_out: reply("The text for a person who has just opted out. It is the only message that is sent after an opt-out. Null: none."),
  opt_in: reply("The text for a person who has just opted in again. Null: none."),
  help: reply("The text for a person who requests help, sent at most once in 24 hours. Null: none."),
};
const closed = { additionalProperties: false };

const Settings = Type.Object({ languages, ...lists, replies: Type.Object(replies, { description: "The texts of automatic replies." }) });
export type ConsentSettings = Static<typeof Settings>;

const someReplies = Type.Object(
  { opt_out: Type.Optional(replies.opt_out), opt_in: Type.Optional(replies.opt_in), help: Type.Optional(replies.help) },
  { ...closed, description: "The texts of automatic replies. A reply that is absent stays unchanged, and null removes it." },
);

/** The change of some settings. A member that is absent or null stays; a reply that is null is sent no more. */
export const ConsentChangeBody = Type.Object(
  {
    languages: optional(languages),
    opt_out_words: optional(lists.opt_out_words),
    opt_in_words: optional(lists.opt_in_words),
    help_words: optional(lists.help_words),
    replies: optional(someReplies),
  },
  { title: "ConsentSettingsChange", description: "The settings to change. Settings that are absent or null stay unchanged.", ...closed },
);
export type SomeSettings = Static<typeof ConsentChangeBody>;

/** A `[[consent]]` table of the configuration file. */
export const ConsentTable = Type.Object(
  {
    account: Type.String({ minLength: 1, maxLength: 100 }),
    environment: oneOf(ENVIRONMENTS),
    languages: Type.Optional(languages),
    opt_out_words: Type.Optional(lists.opt_out_words),
    opt_in_words: Type.Optional(lists.opt_in_words),
    help_words: Type.Optional(lists.help_words),
    replies: Type.Optional(someReplies),
  },
  closed,
);
export type ConsentTable = Static<typeof ConsentTable>;

export const ConsentSettingsRecord = Type.Object(
  {
    object: Type.Literal("consent_settings"),
    environment: Type.Unsafe<Environment>({ type: "string", examples: ["test"], description: "The environment of the settings." }),
    ...Settings.properties,
    updated_at: nullable(timestamp("The time of the last change by the account. Null: never.")),
  },
  {
    title: "ConsentSettings",
    description: "The words with which people opt out of messages of this environment, and the automatic replies to them.",
  },
);

const CHECKS = Object.entries(ConsentChangeBody.properties).map(([name, schema]) => ({
  name,
  check: compile(Type.Object({ [name]: schema }), "body"),
}));

/** The stored settings, which another release or a person may have written. A member that cannot be read is left out. */
export function storedSettings(stored: unknown): SomeSettings {
  const members = asObject(stored);
  return Object.fromEntries(
    CHECKS.filter(({ name, check }) => check({ [name]: members[name] }).length === 0).map(({ name }) => [name, members[name]]),
  );
}

const BUILT_IN: ConsentSettings = {
  languages: [...DEFAULT_LANGUAGES],
  opt_out_words: [],
  opt_in_words: [],
  help_words: [],
  replies: { opt_out: null, opt_in: null, help: null },
};

/** The settings with some of them replaced. */
const merge = (base: ConsentSettings, some: SomeSettings): ConsentSettings => ({
  languages: some.languages ?? base.languages,
  opt_out_words: some.opt_out_words ?? base.opt_out_words,
  opt_in_words: some.opt_in_words ?? base.opt_in_words,
  help_words: some.help_words ?? base.help_words,
  replies: { ...base.replies, ...some.replies },
});

/** The built-in settings, with those of each source in place of the ones before. */
export const settingsOf = (...sources: readonly SomeSettings[]): ConsentSettings => sources.reduce(merge, BUILT_IN);

export const optWordsOf = (settings: ConsentSettings): OptWords =>
  toOptWords(settings.languages, { out: settings.opt_out_words, in: settings.opt_in_words, help: settings.help_words });

export const consentSettingsRecord = (
  settings: ConsentSettings,
  { environment, updatedAt }: { environment: Environment; updatedAt: Date | null },
): Static<typeof ConsentSettingsRecord> => ({
  object: "consent_settings",
  environment,
  ...settings,
  updated_at: updatedAt && isoTime(updatedAt.getTime()),
});

const KINDS = { opt_out_words: "out", opt_in_words: "in", help_words: "help" } as const satisfies Record<keyof typeof lists, OptKind>;

/** Finds words without letters, and words that another list contains too: their meaning would not be clear. */
export function wordFaults(settings: Readonly<Record<string, unknown>>): Fault[] {
  const known = new Map(toOptWords([...LANGUAGE_CODES]));
  return Object.entries(KINDS).flatMap(([list, kind]) => {
    const given = settings[list];
    if (!Array.isArray(given)) return [];
    return given.flatMap((word: unknown, index): Fault[] => {
      const folded = typeof word === "string" ? foldWord(word) : undefined;
      if (folded === undefined) return [];
      const pointer = `/${list}/${index}`;
      if (folded === "") return [{ pointer, code: "invalid_format", detail: "must have a letter or a digit" }];
      const other = known.get(folded);
      known.set(folded, kind);
      return other === undefined || other === kind ? [] : [{ pointer, code: "conflict", detail: "is already in another list" }];
    });
  });
}
