/** A client that sends codes and checks them, and what that leaves behind. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Godwit, KeyOptions, Reply, RequestOptions } from "./harness.ts";
import { rowId } from "./tables.ts";

export type Json = Reply["json"];
export type VerificationCaller = ReturnType<typeof verificationCaller>;

/** No limit is met unless a test is about it. */
export const NO_LIMITS = { GODWIT_VERIFY_COOLDOWN: "0", GODWIT_VERIFY_PER_RECIPIENT: "1000", GODWIT_VERIFY_PER_PREFIX: "100000" };

/** The code of `test`, and one that it is not. */
export const RIGHT = "123456";
export const WRONG = "654321";

let numbers = 0;
/** A recipient that nobody has written to yet, with neighbours of its own. */
export const newRecipient = (): string => `+1415${200 + (numbers += 1)}0123`;

export function verificationCaller(node: Godwit, key: string) {
  const ask = (method: string, path = "", options: RequestOptions = {}): Promise<Reply> =>
    node.request(method, `/v1/verifications${path}`, { key, ...options });
  const found = async (asked: Promise<Reply>, status = 200): Promise<Json> => {
    const reply = await asked;
    assert.equal(reply.status, status, reply.text);
    return reply.json;
  };
  const start = (body: object = {}, options: RequestOptions = {}): Promise<Reply> =>
    ask("POST", "", { idempotencyKey: randomUUID(), ...options, body: { recipient: newRecipient(), ...body } });
  const check = (id: unknown, code: unknown = RIGHT, options: RequestOptions = {}): Promise<Reply> =>
    ask("POST", `/${String(id)}/check`, { ...options, body: { code } });
  const cancel = (id: unknown, options: RequestOptions = {}): Promise<Reply> => ask("POST", `/${String(id)}/cancel`, options);
  return {
    node,
    key,
    ask,
    start,
    check,
    cancel,
    /** Of one that is started, and by sms unless told otherwise. */
    started: (body: object = {}): Promise<Json> => found(start("channels" in body ? body : { channel: "sms", ...body }), 201),
    checked: (id: unknown, code: unknown = RIGHT): Promise<Json> => found(check(id, code)),
    canceled: (id: unknown): Promise<Json> => found(cancel(id)),
    read: (id: unknown): Promise<Json> => found(ask("GET", `/${String(id)}`)),
    message: (id: unknown): Promise<Json> => found(node.request("GET", `/v1/messages/${String(id)}`, { key })),
    /** All messages to a recipient, newest first. */
    messagesTo: async (recipient: unknown): Promise<Json[]> => {
      const query = new URLSearchParams({ recipient: String(recipient), limit: "100" });
      return (await found(node.request("GET", `/v1/messages?${query.toString()}`, { key })))["data"] as Json[];
    },
  };
}

/** A client with an account of its own, and without a quota. */
export async function verifierOf(node: Godwit, account: string, options: KeyOptions = {}): Promise<VerificationCaller> {
  const key = await node.key({ account, ...options });
  await node.unlimited();
  return verificationCaller(node, key);
}

/** As if its time had passed. */
export const expire = (node: Godwit, id: unknown): Promise<unknown> =>
  node.rows("update verifications set expires_at = now() - interval '1 millisecond' where id = $1", [rowId(id)]);
