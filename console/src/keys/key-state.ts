/** The state and the display name of a key. */
import type { Key } from "godwit-sdk";

export type KeyState = "active" | "expired" | "revoked";

export function keyState({ revoked_at: revokedAt, expires_at: expiresAt }: Key): KeyState {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? "expired" : "active";
}

/** The name to display: the key's own name, or its hint. */
export const keyName = ({ name, hint }: Key): string => name ?? hint;
