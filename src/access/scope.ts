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
] as const;

export type Scope = (typeof SCOPES)[number];

export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);

/** Parses a comma-separated list. Returns the scopes, or the words that are not scopes. */
export function parseScopes(text: string): { scopes: Scope[] } | { unknown: string[] } {
  const words = [
    ...new Set(
      text
        .split(",")
        .map((word) => word.trim())
        .filter((word) => word !== ""),
    ),
  ];
  const unknown = words.filter((word) => !isScope(word));
  return unknown.length > 0 ? { unknown } : { scopes: words.filter(isScope) };
}
