/** The operations of clients on verifications: start one, check a code, cancel. Each is one transaction with its idempotency key and its
 *  stored response. The code itself is stored only in the message, sealed, until a carrier has it. */

import { jsonResponse } from "../http/json-response.ts";
import { Problem, type Fault } from "../http/problem.ts";
import { Once, type Executed, type Replay, type WriteCall } from "../idempotency/once.ts";
import { encodeId, newId, type MessageId, type VerificationId } from "../model/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { AcceptParts } from "../messages/accept.ts";
import { consentProblem } from "../messages/refusals.ts";
import { removeFallback } from "../messages/fallbacks.ts";
import { storeMessages } from "../messages/accept-statement.ts";
import { toAcceptance, type Acceptance } from "../messages/acceptance.ts";
import type { Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { concealing, hashCode, isCode, newCode } from "./code.ts";
import { limitProblem, type Limits } from "./limits.ts";
import { channelsOf, DEFAULT_CODE_LENGTH, DEFAULT_CODE_TTL_SECONDS, toMessageRequest, type NewVerification } from "./new-verification.ts";
import { insertVerification, lockVerification, readRecent, storeVerification, supersede, waitForTurn } from "./queries.ts";
import { MAX_ATTEMPTS, statusOf, verificationRecord, type Verification, type VerificationStatus } from "./verification.ts";

export type VerifierParts = Omit<AcceptParts, "watch"> & { box: SecretBox; limits: Limits };

export class Verifier {
  readonly #parts: VerifierParts;
  readonly #once: Once;

  constructor(parts: VerifierParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock, undefined, () => parts.wakeWebhooks());
  }

  now(): number {
    return this.#parts.clock.now();
  }

  async start(call: WriteCall, request: NewVerification): Promise<Executed | Replay> {
    const { composer, handover, box, tracing } = this.#parts;
    const { credential, requestId, trace } = call;
    const length = request.code_length ?? DEFAULT_CODE_LENGTH;
    const code = newCode(credential.environment, length);
    const origin = { requestId, conceal: concealing(code), trace };
    const composed = await composer.compose(toMessageRequest(request, code), credential, origin);
    const message = composed instanceof Problem ? inTermsOfRequest(composed) : toAcceptance(composed, undefined, box);
    let sent: Acceptance | undefined;
    const span = tracing?.begin("commit", "internal", trace ?? null, {});
    const response = await this.#once
      .write(call, async (tx) => {
        if (message instanceof Problem) return message;
        // The id is made after the wait: of two simultaneous verifications the later one counts.
        await waitForTurn(tx, credential, request.recipient);
        const verification = this.#newVerification(credential, request, code, message.message.id);
        const problem = await this.#send(tx, verification, message);
        if (problem !== undefined) return problem;
        sent = message;
        const record = verificationRecord(verification, this.now());
        return { ...jsonResponse(record, 201), location: `/v1/verifications/${record.id}`, recipient: request.recipient };
      })
      .finally(() => span?.end(sent && { "godwit.message_id": encodeId("msg", sent.message.id) }));
    if (response.kind === "executed" && sent !== undefined) handover.queued(sent.queueEntry.lane, [sent.message]);
    return response;
  }

  /** Checks a code. Of two simultaneous checks with the right code, one approves the verification and the other finds it finished. */
  check(call: WriteCall, id: VerificationId | undefined, code: string): Promise<Executed | Replay> {
    return this.#change(call, id, (verification, nowMs) => {
      if (isCode(this.#parts.box, verification.id, code, verification.codeHash))
        return { verification: { ...verification, status: "approved", verifiedAtMs: nowMs }, more: { valid: true } };
      const attempts = verification.attempts + 1;
      return {
        verification: { ...verification, attempts, status: attempts >= MAX_ATTEMPTS ? "failed" : "pending" },
        more: { valid: false },
      };
    });
  }

  cancel(call: WriteCall, id: VerificationId | undefined): Promise<Executed | Replay> {
    return this.#change(call, id, (verification) => ({ verification: { ...verification, status: "canceled" }, more: {} }));
  }

  #newVerification({ accountId, environment }: Owner, request: NewVerification, code: string, messageId: MessageId): Verification {
    const nowMs = this.now();
    const id = newId("ver", nowMs);
    return {
      accountId,
      environment,
      id,
      recipient: request.recipient,
      channels: channelsOf(request),
      codeLength: code.length,
      codeHash: hashCode(this.#parts.box, id, code),
      status: "pending",
      attempts: 0,
      messageId,
      expiresAtMs: nowMs + (request.ttl ?? DEFAULT_CODE_TTL_SECONDS) * 1_000,
      verifiedAtMs: null,
      updatedAtMs: nowMs,
    };
  }

  async #send(tx: Tx, verification: Verification, message: Acceptance): Promise<Problem | undefined> {
    const { limits } = this.#parts;
    const nowMs = verification.updatedAtMs;
    const recent = await readRecent(tx, verification, verification.recipient, limits, nowMs);
    const tooMany = limitProblem(recent, limits, nowMs);
    if (tooMany !== undefined) return tooMany;
    const { refused } = await storeMessages(tx, [message]);
    const code = refused.get(message);
    if (code !== undefined) return consentProblem(code);
    for (const { message_id: before } of await supersede(tx, verification)) await removeFallback(tx, before);
    await insertVerification(tx, verification);
    return undefined;
  }

  /** Changes a pending verification. A finished one needs no fallback to another channel. */
  #change(
    call: WriteCall,
    id: VerificationId | undefined,
    work: (verification: Verification, nowMs: number) => { verification: Verification; more: object },
  ): Promise<Executed | Replay> {
    return this.#once.write(call, async (tx) => {
      const found = id && (await lockVerification(tx, call.credential, id));
      if (found === undefined) throw noSuchVerification();
      const nowMs = this.now();
      const status = statusOf(found, nowMs);
      if (status !== "pending") return notPending(status);
      const { verification, more } = work(found, nowMs);
      const changed = { ...verification, updatedAtMs: nowMs };
      await storeVerification(tx, changed);
      if (changed.status !== "pending") await removeFallback(tx, changed.messageId);
      return { ...jsonResponse({ ...verificationRecord(changed, nowMs), ...more }), recipient: changed.recipient };
    });
  }
}

export const noSuchVerification = (): Problem => new Problem("not_found", { detail: "no such verification in this environment" });

/** The fault has the status as its code, so that a program can tell an expired code from too many wrong ones. */
function notPending(status: VerificationStatus): Problem {
  const detail = `the verification is ${status}: start a new one with POST /v1/verifications`;
  return new Problem("verification_not_pending", { detail, errors: [{ parameter: "id", code: status, detail }] });
}

/** Rewrites a problem of the message in terms of the request: the client named only the template and the recipient. */
function inTermsOfRequest({ code, detail, errors = [] }: Problem): Problem {
  const toFault = (fault: Fault): Fault => {
    const pointer = "pointer" in fault ? fault.pointer : "";
    return { pointer: pointer === "/recipient" ? pointer : "/template_id", code: fault.code, detail: named(pointer, fault.detail) };
  };
  const faults = new Map(errors.map((fault) => [JSON.stringify(toFault(fault)), toFault(fault)]));
  return new Problem(code, faults.size === 0 ? { detail } : { errors: [...faults.values()] });
}

/** Adds the name of the variable of the template to the detail. */
function named(pointer: string, detail: string): string {
  const variable = pointer.split("/template_variables/")[1];
  return variable === undefined ? detail : `its variable ${variable} ${detail}; the only variable of a code's template is code`;
}
