/** What a client may do to a message it has sent: cancel it, edit it while it is scheduled, redact it at its end. Each in one
 *  transaction with its key, event and stored answer, on the message as it then is. */
import type { Credential } from "../access/authenticate.ts";
import type { LinkChooser } from "../links/choose-links.ts";
import type { Clock } from "../storage/database-clock.ts";
import { listEntries, rewriteRecords } from "../events/queries.ts";
import { shiftFallback, removeFallback } from "./fallbacks.ts";
import { Problem } from "../http/problem.ts";
import type { IdempotencyClaim } from "../idempotency/key.ts";
import { Once, type Executed, type Replay, type WriteResponse } from "../idempotency/once.ts";
import { decodeId, type MessageId } from "../lib/id.ts";
import { MAX_UUID } from "../lib/uuid.ts";
import type { Database, Tx } from "../storage/database.ts";
import { fillTemplate } from "../templates/fill-template.ts";
import { findTemplateVersion } from "../templates/find-template.ts";
import { advance } from "./advance.ts";
import { changeBy, noteOn, type Change } from "./change.ts";
import type { WriteProblem } from "./acceptance.ts";
import type { Content } from "./content.ts";
import { applyEdit, type EditMessage } from "./edit-message.ts";
import { messageRecord, type Message, type MessageRecord } from "./message.ts";
import { lockMessage, storeEdit, storeRedaction } from "./queries.ts";
import { hasEndedBadly, isFinished } from "./states.ts";

/** Who asks for what, and how a refusal is written for them. */
export type ChangeCall = {
  credential: Credential;
  id: MessageId | undefined;
  claim: IdempotencyClaim | undefined;
  writeProblem: WriteProblem;
};

export type ChangerParts = { db: Database; clock: Clock; wakeWebhooks: () => void; linkChooser: LinkChooser };

export class MessageChanger {
  readonly #clock: Clock;
  readonly #wakeWebhooks: () => void;
  readonly #once: Once;
  readonly #linkChooser: LinkChooser;

  constructor({ db, clock, wakeWebhooks, linkChooser }: ChangerParts) {
    this.#linkChooser = linkChooser;
    this.#clock = clock;
    this.#wakeWebhooks = wakeWebhooks;
    this.#once = new Once(db);
  }

  /** Undefined where no link would take it now. */
  #partHeaderBytes(message: Message): number | undefined {
    const choice = this.#linkChooser.choose(message);
    return choice.kind === "chosen" ? choice.links[0].partHeaderBytes : undefined;
  }

  /** Before `sending`, and against a claim exactly one of the two wins: both change the message only as they found it. */
  cancel(call: ChangeCall): Promise<Executed | Replay> {
    return this.#change(call, async (tx, message) => {
      const change = changeBy(
        message,
        { status: "canceled", detail: { reason: "canceled by request" }, move: { kind: "leave" } },
        this.#now(),
      );
      return change === undefined ? new Problem("message_not_cancelable", { detail: `it is ${message.status}` }) : make(tx, change);
    });
  }

  edit(call: ChangeCall, request: EditMessage): Promise<Executed | Replay> {
    return this.#change(call, async (tx, message) => {
      const nowMs = this.#now();
      if (message.status !== "scheduled") return new Problem("message_not_editable", { detail: `it is ${message.status}` });
      const edited = applyEdit(message, request, await contentAfter(tx, message, request), {
        nowMs,
        partHeaderBytes: this.#partHeaderBytes(message),
      });
      if (edited instanceof Problem) return edited;
      const change = changeBy(edited.message, { status: "scheduled", detail: { reason: "edited by request" }, move: edited.move }, nowMs);
      if (change === undefined) return new Problem("message_not_editable");
      await storeEdit(tx, change.after);
      if (message.hasFallback) await shiftFallback(tx, message.id, (change.after.sendAtMs ?? 0) - (message.sendAtMs ?? 0));
      // What it counted as before is told by the message before the edit.
      return make(tx, { ...change, countedBefore: edited.countedBefore });
    });
  }

  /** The text and what was written beside it go, here, in every event and in every stored answer. */
  redact(call: ChangeCall): Promise<Executed | Replay> {
    return this.#change(call, async (tx, message) => {
      if (!isFinished(message.status)) return new Problem("message_not_redactable", { detail: `it is ${message.status}` });
      const template = message.template && { ...message.template, variables: null };
      const note = noteOn({ ...message, body: null, template, metadata: {} }, this.#now(), {
        type: "message.redacted",
        isIgnored: false,
        detail: { reason: "redacted by request" },
        move: { kind: "stay" },
      });
      const record = JSON.stringify(messageRecord(note.after));
      await redactEntries(tx, message);
      // What has ended badly may still be sent in another way; of what has not, nothing is left to say.
      if (!hasEndedBadly(message)) await removeFallback(tx, message.id);
      const written = await make(tx, { ...note, entry: { ...note.entry, record } });
      await storeRedaction(tx, note.after);
      return written;
    });
  }

  async #change(call: ChangeCall, work: (tx: Tx, message: Message) => Promise<WriteResponse | Problem>): Promise<Executed | Replay> {
    const { credential, id } = call;
    const answer = await this.#once.write(call, async (tx) => {
      const message = id && (await lockMessage(tx, credential.accountId, credential.environment, id));
      if (message === undefined) throw new Problem("not_found", { detail: "no such message in this environment" });
      return work(tx, message);
    });
    if (answer.kind === "executed") this.#wakeWebhooks();
    return answer;
  }

  #now(): number {
    return this.#clock.now();
  }
}

/** What the message says after an edit. Its template is the one it was accepted with, whatever has become of that since. */
async function contentAfter(tx: Tx, message: Message, { body, template_variables: variables }: EditMessage): Promise<Content | Problem> {
  const { template } = message;
  if (!variables || template === null) return { body: body ?? message.body ?? "", template };
  const id = decodeId("tmpl", template.id);
  const used = id && (await findTemplateVersion(tx, message, id, template.version));
  if (used === undefined) return new Problem("template_not_found");
  const filled = fillTemplate(used, variables, message.channel);
  return filled instanceof Problem ? filled : { body: filled.text, template: { ...template, variables } };
}

/** Writes a change of a message that this transaction has locked, and answers with its record. */
async function make(tx: Tx, change: Change): Promise<WriteResponse> {
  const [isDone] = await advance(tx, [change]);
  if (isDone !== true) throw new Error("a locked message changed");
  return { status: 200, location: null, body: change.entry.record ?? "", eventId: change.entry.id };
}

// A timeline has fewer: signals that moved nothing are kept up to a hundred.
const MAX_ENTRIES = 1_000;

async function redactEntries(tx: Tx, message: Message): Promise<void> {
  const { accountId, environment } = message;
  const entries = await listEntries(tx, message, MAX_UUID, MAX_ENTRIES);
  const redacted = entries.flatMap(({ id, record }) =>
    record === null ? [] : [{ accountId, environment, entry: { id, record: redactRecord(record) } }],
  );
  if (redacted.length > 0) await rewriteRecords(tx, redacted);
}

function redactRecord(text: string): string {
  const record = JSON.parse(text) as MessageRecord;
  return JSON.stringify({ ...record, body: null, template_variables: null, metadata: {} });
}
