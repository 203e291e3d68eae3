/** Scopes: the permissions of a credential. A route requires one scope; a credential has a list. */

export const SCOPES = [
  "messages:send",
  "messages:read",
  "templates:read",
  "templates:write",
  "webhooks:read",
  "webhooks:write",
  "events:read",
  "keys:read",
  "keys:write",
  "suppressions:read",
  "suppressions:write",
  "usage:read",
  "links:read",
  "links:write",
  "audit:read",
  "recipients:read",
  "recipients:erase",
  "verifications:read",
  "verifications:write",
  "media:read",
  "media:write",
] as const;

export type Scope = (typeof SCOPES)[number];

export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);

/** Named lists of scopes, for the usual uses of a key. */
export const SCOPE_PRESETS = {
  send: {
    scopes: ["messages:send", "messages:read", "templates:read", "events:read", "media:read", "media:write"],
    help: "send messages and follow them",
  },
  app: {
    scopes: SCOPES.filter((scope) => !["keys:write", "links:write", "audit:read", "recipients:erase"].includes(scope)),
    help: "an application: everything except changes of keys and links, the audit log and erasure",
  },
  read: { scopes: SCOPES.filter((scope) => scope.endsWith(":read")), help: "read everything, change nothing" },
  all: { scopes: SCOPES, help: "everything, for the console and for administration" },
} as const satisfies Record<string, { scopes: readonly Scope[]; help: string }>;

/** Parses a comma-separated list of scopes and presets. Returns the scopes, or the words that are neither. */
export function parseScopes(text: string): { scopes: Scope[] } | { unknown: string[] } {
  const words = text.split(",").map((word) => word.trim());
  const all = new Set(words.filter((word) => word !== "").flatMap((word) => presetOf(word)?.scopes ?? [word]));
  const unknown = [...all].filter((word) => !isScope(word));
  return unknown.length > 0 ? { unknown } : { scopes: [...all].filter(isScope) };
}

const presetOf = (word: string): { scopes: readonly string[] } | undefined =>
  Object.entries(SCOPE_PRESETS).find(([name]) => name === word)?.[1];
