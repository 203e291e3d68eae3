/** Access tokens, as whoever checks a credential sees them. How they are made and read is in `tokens/`. */
import type { AccountId, KeyId } from "../lib/id.ts";
import type { Scope } from "./scope.ts";

/** What a token that is rightly signed, and whose time has not passed, says. Whether its key still lives is another question. */
export type TokenClaims = { accountId: AccountId; keyId: KeyId; scopes: readonly Scope[]; expiresAtMs: number };

/** Undefined for a token that is none of ours, or is over. */
export type ReadToken = (token: string) => Promise<TokenClaims | undefined>;

// Ours have some five hundred characters.
const MAX_TOKEN_LENGTH = 2_048;

/** Whether it is worth a look: three parts of base64url. */
export const looksLikeToken = (text: string): boolean => text.length <= MAX_TOKEN_LENGTH && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);
