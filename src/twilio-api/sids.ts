/** Twilio's SIDs: two letters for the kind of record, and 32 hexadecimal digits. The digits are those of our id, so each can be made of the other,
 *  and nothing is stored. */
import { toId, type Id, type IdPrefix, type MediaId, type MessageId, type VerificationId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import { uuidFromBytes, type Uuid } from "../lib/uuid.ts";

/** Messages without and with media, files, and verifications. */
type SidKind = "SM" | "MM" | "ME" | "VE";

const HEX = /^[0-9a-f]{32}$/i;

const sidOf = (kind: SidKind, id: Uuid): string => kind + id.toString("hex");

/** The id in a SID. Undefined for other texts, and for a SID of another kind. */
function idIn<P extends IdPrefix>(prefix: P, kinds: readonly SidKind[], sid: string): Id<P> | undefined {
  const digits = sid.slice(2);
  if (!kinds.some((kind) => sid.startsWith(kind)) || !HEX.test(digits)) return undefined;
  return toId(prefix, uuidFromBytes(Buffer.from(digits, "hex")));
}

/** A message has `MM` in place of `SM` if it has media. Both are understood for each message. */
export const messageSid = (id: MessageId, hasMedia: boolean): string => sidOf(hasMedia ? "MM" : "SM", id);
export const messageOfSid = (sid: string): MessageId | undefined => idIn("msg", ["SM", "MM"], sid);

export const mediaSid = (id: MediaId): string => sidOf("ME", id);
export const mediaOfSid = (sid: string): MediaId | undefined => idIn("media", ["ME"], sid);

export const verificationSid = (id: VerificationId): string => sidOf("VE", id);
export const verificationOfSid = (sid: string): VerificationId | undefined => idIn("ver", ["VE"], sid);

// The digit of the version, which is 7 in our ids. It tells the accounts of both environments apart, because a SID of Twilio names one account.
const VERSION_AT = 12;
const VERSION_OF = { live: "7", test: "8" } as const;

const digitsOfOwner = ({ accountId, environment }: Owner): string => {
  const digits = accountId.toString("hex");
  return digits.slice(0, VERSION_AT) + VERSION_OF[environment] + digits.slice(VERSION_AT + 1);
};

/** The SID of an environment of an account: to Twilio's clients, each environment is an account. */
export const accountSid = (owner: Owner): string => `AC${digitsOfOwner(owner)}`;

/** The messaging service that has all senders of an environment. */
export const serviceSidOf = (owner: Owner): string => `MG${digitsOfOwner(owner)}`;

/** The only Verify service of an environment. */
export const verifyServiceSid = (owner: Owner): string => `VA${digitsOfOwner(owner)}`;
