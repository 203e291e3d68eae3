/** The scopes of a new key: their descriptions, and presets for common uses. */

export const SCOPE_TEXTS: Readonly<Record<string, string>> = {
  "messages:send": "Send, validate, cancel, edit and redact messages, and send batches.",
  "messages:read": "Read messages with their texts and timelines, and batches.",
  "templates:read": "Read templates and their previews.",
  "templates:write": "Create, change and archive templates.",
  "webhooks:read": "Read endpoints and their deliveries.",
  "webhooks:write": "Create, change, test and delete endpoints; retry deliveries.",
  "events:read": "Read events and the event stream.",
  "keys:read": "List keys, without their secrets.",
  "keys:write": "Create, rotate and revoke keys.",
  "suppressions:read": "Read suppressions and consent settings.",
  "suppressions:write": "Add, import and lift suppressions; change consent settings.",
  "usage:read": "Read usage and the queue.",
  "links:read": "Read carriers, senders and routes.",
  "links:write": "Add, change, pause and delete carriers, senders and routes.",
  "audit:read": "Read the audit log.",
  "recipients:read": "Export all records of a person.",
  "recipients:erase": "Erase all records of a person.",
  "verifications:read": "Read verifications.",
  "verifications:write": "Send, check and cancel verification codes.",
  "media:read": "Read files, also those that were received.",
  "media:write": "Upload and delete files.",
};

export type ScopePreset = {
  /** The name of the preset on the command line. */
  id: string;
  name: string;
  description: string;
  includes: (scope: string) => boolean;
};

const SENDING = new Set(["messages:send", "messages:read", "templates:read", "events:read", "media:read", "media:write"]);
const ADMINISTRATION = new Set(["keys:write", "links:write", "audit:read", "recipients:erase"]);

/** The same presets as on the command line. */
export const PRESETS: readonly ScopePreset[] = [
  {
    id: "send",
    name: "Send",
    description: "For a program that sends messages and follows them.",
    includes: (scope) => SENDING.has(scope),
  },
  {
    id: "app",
    name: "Application",
    description: "For an application. It has everything except changes of keys and carriers, the audit log and erasure.",
    includes: (scope) => !ADMINISTRATION.has(scope),
  },
  {
    id: "read",
    name: "Read only",
    description: "For reports and support. It reads everything, including texts and numbers, and changes nothing.",
    includes: (scope) => scope.endsWith(":read"),
  },
  {
    id: "all",
    name: "Full access",
    description: "For administrators. It has all scopes of your own key, including those to create keys and to erase records.",
    includes: () => true,
  },
];

/** The scopes of a preset that the own key can grant. */
export const scopesOf = ({ includes }: ScopePreset, granted: readonly string[]): string[] => granted.filter(includes);

/** The preset with exactly these scopes, if there is one. */
export const presetOf = (chosen: readonly string[], granted: readonly string[]): ScopePreset | undefined =>
  chosen.length === 0
    ? undefined
    : PRESETS.find((each) => {
        const scopes = scopesOf(each, granted);
        return scopes.length === chosen.length && scopes.every((scope) => chosen.includes(scope));
      });
