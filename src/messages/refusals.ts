/** The reasons for which a message is refused, besides its form: too many segments, and a recipient who does not want it. */
import type { ConsentRefusal } from "../consent/refusal.ts";
import { Problem } from "../http/problem.ts";
import type { Link } from "../links/link.ts";
import { segmentsOf } from "../model/segments.ts";
import type { Content } from "./message.ts";
import { tooManySegments, type NewMessage } from "./new-message.ts";

type SegmentLimit = Pick<NewMessage, "channel" | "max_segments">;

/** `pointer` is the position of the step in the request; for the message itself it names the limit. Without a link, segments are counted as
 *  on most links. */
export function segmentProblem(
  { channel, max_segments: most }: SegmentLimit,
  { body, structured }: Content,
  findLink: () => Link | Problem,
  pointer = "/max_segments",
): Problem | undefined {
  if (channel !== "sms" || typeof most !== "number" || structured) return undefined;
  const link = findLink();
  const { count } = segmentsOf(body, link instanceof Problem ? undefined : link.segmentRules);
  return count > most ? tooManySegments(count, most, pointer) : undefined;
}

/** Returns the problem that the carrier of the link is known to have with the recipient. The accept
 *  statement checks our own consent rows. */
export function carrierProblem({ recipient, channel }: NewMessage, { template }: Content, { unwilling }: Link): Problem | undefined {
  if (unwilling.optedOut.has(recipient)) return consentProblem("recipient_opted_out", OPTED_OUT_AT_CARRIER);
  return channel === "whatsapp" && template === null && unwilling.windowClosed.has(recipient)
    ? consentProblem("service_window_closed")
    : undefined;
}

// Only the simulated carrier knows such recipients before a message is sent.
const OPTED_OUT_AT_CARRIER = "is a test number that is always refused as opted out; it has no entry in the suppressions";

const CONSENT_DETAILS: Readonly<Record<ConsentRefusal, string>> = {
  recipient_opted_out:
    "has opted out of messages from this sender: do not send again until they opt in; GET /v1/suppressions?recipient=… shows the entry",
  service_window_closed: "has not written within 24 hours: only a template may be sent",
};

export const consentProblem = (code: ConsentRefusal, detail = CONSENT_DETAILS[code]): Problem =>
  new Problem(code, { errors: [{ pointer: "/recipient", code, detail }] });
