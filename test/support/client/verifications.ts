/** /v1/verifications of the test client. */
import { randomUUID } from "node:crypto";
import type { Reply, RequestOptions } from "../harness.ts";
import { below, recordOf, type Json, type SendRequest } from "./request.ts";

/** Settings under which no request reaches a limit. */
export const NO_LIMITS = { GODWIT_VERIFY_COOLDOWN: "0", GODWIT_VERIFY_PER_RECIPIENT: "1000", GODWIT_VERIFY_PER_PREFIX: "100000" };

/** The code of every verification of `test`, and a different one. */
export const RIGHT = "123456";
export const WRONG = "654321";

let numbers = 0;
/** A recipient, and a number prefix, that no verification of the test file has used. */
export const newRecipient = (): string => `+1415${200 + (numbers += 1)}0123`;

export function verificationClient(send: SendRequest) {
  const request = below(send, "/v1/verifications");
  const start = (body: object = {}, options: RequestOptions = {}): Promise<Reply> =>
    request("POST", "", { idempotencyKey: randomUUID(), ...options, body: { recipient: newRecipient(), ...body } });
  const check = (id: unknown, code: unknown = RIGHT, options: RequestOptions = {}): Promise<Reply> =>
    request("POST", `/${String(id)}/check`, { ...options, body: { code } });
  const cancel = (id: unknown, options: RequestOptions = {}): Promise<Reply> => request("POST", `/${String(id)}/cancel`, options);
  return {
    request,
    start,
    check,
    cancel,
    /** Starts a verification, by sms unless `body` names channels, and returns its record. */
    started: async (body: object = {}): Promise<Json> =>
      recordOf(await start("channels" in body ? body : { channel: "sms", ...body }), 201),
    checked: async (id: unknown, code: unknown = RIGHT): Promise<Json> => recordOf(await check(id, code)),
    canceled: async (id: unknown): Promise<Json> => recordOf(await cancel(id)),
    read: async (id: unknown): Promise<Json> => recordOf(await request("GET", `/${String(id)}`)),
  };
}
