/** Answers to what carriers call us with: names that can be kept, secrets that are compared without telling how much of them was
 *  right, and a yes only when everything is committed. */
import { createHash, timingSafeEqual } from "node:crypto";
import { errorFields } from "../lib/log.ts";
import { within } from "../lib/wait.ts";
import type { CarrierResponse, Host, InboundMessage, Receipt } from "./provider.ts";
import type { ReviewUpdate } from "./business-account.ts";

// Carriers give up after 10 s or so, and come again.
const COMMIT_LIMIT_MS = 8_000;
const MAX_NAME = 512;
const MAX_WORDS = 200;

/** What carriers said in one call. */
export type Said = { receipts: readonly Receipt[]; messages: readonly InboundMessage[]; verdicts?: readonly ReviewUpdate[] };

export const plain = (status: number, body: string): CarrierResponse => ({ status, contentType: "text/plain; charset=utf-8", body });

const digest = (value: string): Buffer => createHash("sha256").update(value).digest();

/** In the same time whatever is wrong. Nothing is the same as an empty secret: one that was never set would let anybody in. */
export const isSameSecret = (given: string, secret: string): boolean => timingSafeEqual(digest(given), digest(secret)) && secret !== "";

/** Whether all of it is committed. If not, the carrier is to say it again. */
export async function isCommitted(host: Host, { receipts, messages, verdicts = [] }: Said): Promise<boolean> {
  const work = async (): Promise<true> => {
    if (receipts.length > 0) await host.receive(receipts);
    if (messages.length > 0) await host.receiveMessages(messages);
    if (verdicts.length > 0) await host.receiveReviews(verdicts);
    return true;
  };
  try {
    if ((await within(work(), COMMIT_LIMIT_MS)) === true) return true;
    host.log.warn(
      { event: "providers.receive_timed_out", receipts: receipts.length, messages: messages.length, verdicts: verdicts.length },
      "a carrier's report was not stored in time: the carrier sends it again",
    );
  } catch (error) {
    host.log.warn(
      { event: "providers.receive_failed", ...errorFields(error) },
      "a carrier's report was not stored: the carrier sends it again",
    );
  }
  return false;
}

const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

/** Something that names a message. What no database can hold would be brought again for ever, with all that came beside it. */
export const nameIn = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" && value.length <= MAX_NAME && isStorable(value) ? value : undefined;

/** What people wrote, as it can be kept. */
export const textIn = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value.replaceAll("\0", "").toWellFormed() : undefined;

/** The carrier's own words for the timeline; what is not there is left out. */
export const rawOf = (words: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(words).flatMap(([name, value]) => {
      const text = typeof value === "number" ? String(value) : textIn(value);
      return text === undefined ? [] : [[name, text.slice(0, MAX_WORDS).toWellFormed()]];
    }),
  );

/** A number in E.164, however it is written; undefined where it is none. */
export function numberIn(value: unknown): string | undefined {
  const digits = typeof value === "string" ? value.replaceAll(/[\s()+.-]/g, "") : "";
  return /^[1-9]\d{6,14}$/.test(digits) ? `+${digits}` : undefined;
}
