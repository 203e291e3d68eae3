/** What a credential may do. A route names one scope; a credential holds a list. */

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
  "verifications:read",
  "verifications:write",
] as const;

export type Scope = (typeof SCOPES)[number];

export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);

/** A comma-separated list, or the words in it that are no scopes. */
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
