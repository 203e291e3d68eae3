/** Where a key is in its life. */
import type { Key } from "godwit-sdk";

export type KeyState = "active" | "expired" | "revoked";

export function keyState({ revoked_at: revokedAt, expires_at: expiresAt }: Key): KeyState {
  if (revokedAt !== null) return "revoked";
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? "expired" : "active";
}

/** How people call it. */
export const keyName = ({ name, hint }: Key): string => name ?? hint;
