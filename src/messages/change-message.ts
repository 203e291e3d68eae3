/** The changes that a client can make to a message: cancel it, edit it while it is scheduled, redact it when it is finished. Each runs in
 *  one transaction with its key, its event and its stored response, with the message locked. */
import type { Action } from "../audit/audit-event.ts";
import { recordChange } from "../audit/record-change.ts";
import { listEntries, rewriteRecords } from "../events/queries.ts";
import { Problem } from "../http/problem.ts";
import { Once, type AuditedCall, type Executed, type Replay, type WriteResponse } from "../idempotency/once.ts";
import { decodeId, encodeId, type MessageId } from "../model/id.ts";
import type { MediaLibrary } from "../media/library.ts";
import type { MediaRecord } from "../media/media.ts";
import { mediaOf } from "../model/content.ts";
import { isCompact } from "../model/message-record.ts";
import type { SegmentRules } from "../model/segments.ts";
import { isSealed, type SecretBox } from "../lib/secret-box.ts";
import { MAX_UUID } from "../lib/uuid.ts";
import { chooseLinks } from "../links/choose-links.ts";
import type { LinkDirectory } from "../links/directory.ts";
import { isFixed } from "../links/choose-sender.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import { fillTemplate } from "../templates/fill-template.ts";
import { readTemplate } from "../templates/find-template.ts";
import { advanceLocked } from "./advance.ts";
import { changeBy, noteOn, type Change } from "./change.ts";
import { eraseMediaRecord } from "./erased.ts";
import { applyMessageEdit, type EditMessage } from "./edit-message.ts";
import { latestSendMs, shiftFallback, removeFallback } from "./fallbacks.ts";
import { messageRecord, type Message, type MessageRecord, type Content } from "./message.ts";
import { lockMessage, storeEdit, storeRedaction } from "./queries.ts";
import { readSteps } from "./sealed.ts";
import { isUnsuccessful, isFinished } from "./states.ts";

export type ChangerParts = {
  db: Database;
  clock: Clock;
  wakeWebhooks: () => void;
  linkDirectory: LinkDirectory;
  media: MediaLibrary;
  box: SecretBox;
};

export class MessageChanger {
  readonly #parts: ChangerParts;
  readonly #once: Once;

  constructor(parts: ChangerParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock, undefined, parts.wakeWebhooks);
  }

  /** Undefined if no link accepts the message now. */
  #segmentRules(message: Message): SegmentRules | undefined {
    const isBound = message.senderReason === null || isFixed(message.senderReason);
    const choice = chooseLinks(this.#parts.linkDirectory.current, isBound ? message : { ...message, sender: null });
    return choice.kind === "chosen" ? choice.links[0].segmentRules : undefined;
  }

  /** Cancels a message before it is `sending`. Of a cancellation and an attempt exactly one succeeds, since each changes only the version
   *  of the message that it has read. */
  cancel(call: AuditedCall, id: MessageId | undefined): Promise<Executed | Replay> {
    return this.#change(call, id, "message.canceled", async (tx, message) => {
      const change = changeBy(
        message,
        { status: "canceled", detail: { reason: "canceled by request" }, move: { kind: "leave" } },
        this.#now(),
      );
      return change === undefined
        ? new Problem("message_not_cancelable", {
            detail: `the message is ${message.status}; only scheduled and queued messages can be canceled`,
          })
        : writeChange(tx, change);
    });
  }

  edit(call: AuditedCall, id: MessageId | undefined, request: EditMessage): Promise<Executed | Replay> {
    return this.#change(call, id, "message.edited", async (tx, message) => {
      const nowMs = this.#now();
      if (message.status !== "scheduled")
        return new Problem("message_not_editable", { detail: `the message is ${message.status}; only scheduled messages can be edited` });
      const edited = applyMessageEdit(message, request, await editedContent(tx, message, request), {
        nowMs,
        segmentRules: this.#segmentRules(message),
      });
      if (edited instanceof Problem) return edited;
      const change = changeBy(edited.message, { status: "scheduled", detail: { reason: "edited by request" }, move: edited.move }, nowMs);
      if (change === undefined) return new Problem("message_not_editable");
      await storeEdit(tx, change.after);
      await this.#moveTime(tx, message, change.after);
      // The usage before the change is that of the message before the edit.
      return writeChange(tx, { ...change, before: message });
    });
  }

  /** Moves the fallback of a message to the new time of the message, and keeps the files of both until it is over. */
  async #moveTime(tx: Tx, before: Message, after: Message): Promise<void> {
    const { media, box } = this.#parts;
    const startMs = after.sendAtMs ?? 0;
    const [moved] = after.hasFallback ? await shiftFallback(tx, after.id, startMs - (before.sendAtMs ?? 0)) : [];
    // Sealed steps are those of a verification, which has no files.
    const steps = moved === undefined || isSealed(moved.steps) ? [] : readSteps(box, after.id, moved.steps);
    const afterSeconds = steps.map((step) => step.afterSeconds);
    const lastMs = latestSendMs(startMs, (after.expiresAtMs ?? startMs) - startMs, afterSeconds);
    const files = [after.content, ...steps.map(({ content }) => content.structured ?? null)].map(mediaOf);
    const ids = files.map((file) => file && decodeId("media", file.media_id)).filter((id) => id !== undefined);
    // In one order, so that two edits cannot wait for each other.
    for (const id of ids.toSorted((a, b) => Buffer.compare(a, b))) await media.keep(after, id, lastMs, tx);
  }

  /** Removes the text, the variables and the metadata from the message, from its events and from stored responses. */
  redact(call: AuditedCall, id: MessageId | undefined): Promise<Executed | Replay> {
    return this.#change(call, id, "message.redacted", async (tx, message) => {
      if (!isFinished(message.status))
        return new Problem("message_not_redactable", {
          detail: `the message is ${message.status}; only messages with a final status can be redacted`,
        });
      const template = message.template && { ...message.template, variables: null };
      const note = noteOn({ ...message, body: null, content: null, template, metadata: {}, carrierOptions: null }, this.#now(), {
        type: "message.redacted",
        isIgnored: false,
        detail: { reason: "redacted by request" },
        move: { kind: "stay" },
      });
      const record = JSON.stringify(messageRecord(note.after));
      await redactEntries(tx, message);
      // A message that was not delivered keeps its fallback, which may still be sent. Any other fallback is no longer needed.
      if (!isUnsuccessful(message)) await removeFallback(tx, message.id);
      const written = await writeChange(tx, { ...note, entry: { ...note.entry, record } });
      await storeRedaction(tx, note.after);
      return written;
    });
  }

  #change(
    call: AuditedCall,
    id: MessageId | undefined,
    action: Action,
    work: (tx: Tx, message: Message) => Promise<WriteResponse | Problem>,
  ): Promise<Executed | Replay> {
    const { credential, origin } = call;
    return this.#once.write(call, async (tx) => {
      const message = id && (await lockMessage(tx, credential.accountId, credential.environment, id));
      if (message === undefined) throw new Problem("not_found", { detail: "no such message in this environment" });
      const done = await work(tx, message);
      const target = { type: "message", id: encodeId("msg", message.id) } as const;
      if (!(done instanceof Problem)) await recordChange(tx, this.#now(), { ...credential, origin: origin() }, { action, target });
      return done;
    });
  }

  #now(): number {
    return this.#parts.clock.now();
  }
}

/** The content of the message after an edit. It uses the version of the template with which the message was accepted. */
async function editedContent(tx: Tx, message: Message, { body, template_variables: variables }: EditMessage): Promise<Content | Problem> {
  const { template } = message;
  if (!variables || template === null) return { body: body ?? message.body ?? "", template };
  const id = decodeId("tmpl", template.id);
  const used = id && (await readTemplate(tx, message, id, template.version));
  if (used === undefined) return new Problem("template_not_found");
  const filled = fillTemplate(used, variables, message.channel);
  return filled instanceof Problem ? filled : { body: filled.text, template: { ...template, variables } };
}

/** Writes a change of a message that this transaction has locked, and returns its record as the response. */
async function writeChange(tx: Tx, change: Change): Promise<WriteResponse> {
  await advanceLocked(tx, [change]);
  return { status: 200, location: null, body: JSON.stringify(messageRecord(change.after)), eventId: change.entry.id };
}

// A timeline has fewer entries: at most a hundred ignored signals are kept.
const MAX_ENTRIES = 1_000;

/** A compact record has nothing of what a redaction removes. */
async function redactEntries(tx: Tx, message: Message): Promise<void> {
  const { accountId, environment } = message;
  const entries = await listEntries(tx, message, MAX_UUID, MAX_ENTRIES);
  const redacted = entries.flatMap(({ id, record }) =>
    record === null || isCompact(record) ? [] : [{ accountId, environment, entry: { id, record: redactRecord(record) } }],
  );
  if (redacted.length > 0) await rewriteRecords(tx, redacted);
}

function redactRecord(text: string): string {
  const record = JSON.parse(text) as MessageRecord | MediaRecord;
  if (record.object === "media") return JSON.stringify(eraseMediaRecord(record));
  return JSON.stringify({ ...record, body: null, content: null, template_variables: null, metadata: {} });
}
