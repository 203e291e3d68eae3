/** The values that the filters of the audit log offer. The service accepts others as well. */

const KINDS: Readonly<Record<string, readonly string[]>> = {
  account: ["created", "changed"],
  compatible_credential: ["created", "revoked"],
  consent_settings: ["changed"],
  environment: ["tier_changed"],
  endpoint: ["created", "changed", "deleted", "disabled", "recovered", "secret_rotated"],
  key: ["created", "rotated", "revoked"],
  link: ["created", "changed", "deleted", "paused", "resumed", "tested"],
  media: ["deleted"],
  message: ["assigned", "canceled", "edited", "redacted", "searched"],
  recipient: ["erased", "exported"],
  route: ["created", "changed", "deleted"],
  sender: ["created", "changed", "deleted"],
  suppression: ["created", "imported", "lifted"],
  template: ["archived", "created", "changed"],
};

/** The actions by kind, each kind after its wildcard: `key.*`, `key.created`, … */
export const ACTIONS: readonly string[] = Object.entries(KINDS).flatMap(([kind, actions]) =>
  ["*", ...actions].map((action) => `${kind}.${action}`),
);

export const ACTOR_TYPES = ["key", "token", "cli", "carrier", "system"];

export const TARGET_TYPES = [
  "account",
  "compatible_credential",
  "consent_settings",
  "environment",
  "webhook_endpoint",
  "key",
  "link",
  "media",
  "message",
  "recipient",
  "route",
  "sender",
  "suppression",
  "template",
];
