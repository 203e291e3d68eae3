/** Inbound messages that may be stored without an acknowledgement: the commit took too long, or the connection ended before the
 *  response. The carrier sends such a message again, without an id, and it must be stored once. A person may also write the same text
 *  twice, so only an expected message counts as a repetition, and only once. */
import { BoundedMap } from "../../lib/bounded-map.ts";
import type { InboundMessage } from "../provider.ts";

// Carriers repeat an unacknowledged message after the next bind, or within minutes.
const EXPECTED_MS = 600_000;
const MAX_EXPECTED = 1_000;

type Expected = { isCommitted: Promise<boolean>; untilMs: number };

const messageKey = ({ from, to, text }: InboundMessage): string => JSON.stringify([from, to, text]);

export class Repeats {
  readonly #expected = new BoundedMap<string, Expected>(MAX_EXPECTED);

  /** Expects a message to come again. `isCommitted` resolves with whether it is stored. */
  expect(message: InboundMessage, isCommitted: Promise<boolean>, nowMs: number): void {
    this.#expected.renew(messageKey(message), { isCommitted, untilMs: nowMs + EXPECTED_MS });
  }

  /** Resolves with whether an expected message is stored. Undefined if the message was not expected. */
  take(message: InboundMessage, nowMs: number): Promise<boolean> | undefined {
    const key = messageKey(message);
    const found = this.#expected.get(key);
    this.#expected.delete(key);
    return found !== undefined && nowMs < found.untilMs ? found.isCommitted : undefined;
  }
}
