/** Creates version-4 UUIDs. */

/** Returns a random version-4 UUID. Browsers offer `crypto.randomUUID` only in a secure context. */
export const newUuid = (): string => toUuid(crypto.getRandomValues(new Uint8Array(16)));

/** Returns an idempotency key that is derived from a text, such as `order-17`: the same key for the same text, also in the Python SDK. So a
 *  program that starts again repeats its request with the same key without storing it. Another message about the same order needs another
 *  text, such as `order-17 shipped`. */
export async function idempotencyKeyFrom(text: string): Promise<string> {
  if (text === "") throw new TypeError("the text of an idempotency key must not be empty: all requests would have the same key");
  return toUuid(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)), 0, 16));
}

/** Writes 16 bytes as a version-4 UUID. */
function toUuid(bytes: Uint8Array): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
