/** URLs of files for carriers, which have no credential. A URL names its media and its end, and has a keyed hash of both. */
import type { SecretBox } from "../lib/secret-box.ts";
import { withoutFinalSlashes } from "../lib/urls.ts";
import { uuidFromBytes } from "../lib/uuid.ts";
import { toId, type MediaId } from "../model/id.ts";

// Carriers fetch a file within minutes, and again when they repeat a message. A URL is made for each attempt.
const VALID_MS = 24 * 3_600_000;
const CONTEXT = "media url";
const ID_BYTES = 16;
const END_BYTES = 6;
const MAC_BYTES = 32;

export type MediaUrls = ReturnType<typeof mediaUrls>;

export const mediaUrls = (box: SecretBox) => ({
  /** The URL below our public origin. */
  urlBelow: (origin: string, id: MediaId, nowMs: number): string => {
    const named = Buffer.alloc(ID_BYTES + END_BYTES);
    id.copy(named);
    named.writeUIntBE(Math.ceil(nowMs + VALID_MS), ID_BYTES, END_BYTES);
    const token = Buffer.concat([named, box.mac(named.toString("hex"), CONTEXT)]).toString("base64url");
    return `${withoutFinalSlashes(origin)}/media/${token}`;
  },
  /** The media of a token. Undefined for a token that is not ours, or has expired. */
  mediaOf: (token: string, nowMs: number): MediaId | undefined => {
    const bytes = Buffer.from(token, "base64url");
    const named = bytes.subarray(0, ID_BYTES + END_BYTES);
    if (bytes.length !== named.length + MAC_BYTES || bytes.toString("base64url") !== token) return undefined;
    if (!box.isMac(bytes.subarray(named.length), named.toString("hex"), CONTEXT)) return undefined;
    if (named.readUIntBE(ID_BYTES, END_BYTES) <= nowMs) return undefined;
    return toId("media", uuidFromBytes(named.subarray(0, ID_BYTES)));
  },
});
