/** A message that is being written: on the send page. Another page may put something there; it stays in memory, and never in an address. */
import type { Message, NewMessage } from "godwit-sdk";
import { fromLocalInput } from "../lib/format.ts";

export type Draft = {
  channel: string;
  recipient: string;
  kind: "text" | "template";
  body: string;
  template: string;
  variables: Readonly<Record<string, string>>;
  sender: string;
  /** As the browser's field has it, in the time of this place. */
  sendAt: string;
  priority: string;
  clientReference: string;
  /** A line for each: name=value. */
  metadata: string;
  ttlSeconds: string;
  maxSegments: string;
};

export const EMPTY: Draft = {
  channel: "sms",
  recipient: "",
  kind: "text",
  body: "",
  template: "",
  variables: {},
  sender: "",
  sendAt: "",
  priority: "normal",
  clientReference: "",
  metadata: "",
  ttlSeconds: "",
  maxSegments: "",
};

/** The same again, as a new message: all that its record has. How long it was to live, how many parts it might have and what was to be tried
 *  next are not in it. */
export const toDraft = (message: Message): Draft => ({
  ...EMPTY,
  channel: message.channel,
  recipient: message.recipient,
  kind: message.template_id === null ? "text" : "template",
  body: message.template_id === null ? (message.body ?? "") : "",
  template: message.template_id ?? "",
  variables: message.template_variables ?? {},
  sender: message.sender ?? "",
  priority: message.priority,
  clientReference: message.client_reference ?? "",
  metadata: Object.entries(message.metadata)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n"),
});

let kept: { draft: Draft; keyId: string } | undefined;

/** For whoever signs in with the same key again: a session may end while one writes. */
export const keepDraft = (draft: Draft, keyId: string): void => {
  kept = { draft, keyId };
};

/** What was put there, once. */
export const takeKeptDraft = (keyId: string): Draft | undefined => {
  const found = kept;
  kept = undefined;
  return found?.keyId === keyId ? found.draft : undefined;
};

export const forgetKeptDraft = (): void => {
  kept = undefined;
};

/** The body of the request: only what was filled in, so that the code beside it is no longer than it must be. */
export function toRequest(draft: Draft): NewMessage {
  const { kind, body, template, variables, sender, sendAt, priority, clientReference, metadata, ttlSeconds, maxSegments } = draft;
  return {
    recipient: draft.recipient.trim(),
    // The service says so if it is another word.
    channel: draft.channel as NewMessage["channel"],
    ...(kind === "text"
      ? { body }
      : { template_id: template, ...(Object.keys(variables).length === 0 ? {} : { template_variables: { ...variables } }) }),
    ...(sender.trim() === "" ? {} : { sender: sender.trim() }),
    ...(sendAt === "" ? {} : { send_at: fromLocalInput(sendAt) }),
    ...(priority === "normal" ? {} : { priority: priority as "high" }),
    ...(clientReference.trim() === "" ? {} : { client_reference: clientReference.trim() }),
    ...(metadata.trim() === "" ? {} : { metadata: parseMetadata(metadata) }),
    ...(ttlSeconds === "" ? {} : { ttl_seconds: Number(ttlSeconds) }),
    ...(maxSegments === "" ? {} : { max_segments: Number(maxSegments) }),
  };
}

/** A line without a sign is a name without a value. */
const parseMetadata = (text: string): Record<string, string> =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => {
        const at = line.indexOf("=");
        return at < 0 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
  );
