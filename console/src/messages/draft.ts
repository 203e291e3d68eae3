/** The draft of a message on the send page. Another page can hand over a draft; it stays in memory and never appears in an address. */
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
  /** The value of the browser's field, in local time. */
  sendAt: string;
  priority: string;
  clientReference: string;
  /** One line for each entry: name=value. */
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

/** Makes a draft of the same message. The record does not contain the time to live, the maximum of segments and the fallback, so the draft
 *  has none of them. */
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

/** Keeps a draft for the send page. Only the same key gets it back, because a session may end while the user writes. */
export const keepDraft = (draft: Draft, keyId: string): void => {
  kept = { draft, keyId };
};

/** Returns the kept draft once. */
export const takeKeptDraft = (keyId: string): Draft | undefined => {
  const found = kept;
  kept = undefined;
  return found?.keyId === keyId ? found.draft : undefined;
};

export const forgetKeptDraft = (): void => {
  kept = undefined;
};

/** Builds the request body from the filled fields only, so that the code sample beside the form stays short. */
export function toRequest(draft: Draft): NewMessage {
  const { kind, body, template, variables, sender, sendAt, priority, clientReference, metadata, ttlSeconds, maxSegments } = draft;
  return {
    recipient: draft.recipient.trim(),
    // The service reports an unknown channel.
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

/** Parses lines of name=value. A line without an equals sign is a name with an empty value. */
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
