/** Events for people: the record that an event is about, and the event as one line. */
import { parseObject } from "./client.ts";
import type { FollowedEvent } from "./follow-events.ts";
import { paint, paintStatus } from "./output.ts";

type EventSubject = { id?: string; recipient?: string; in_reply_to?: string | null; error?: { code: string } | null };

/** Returns the subject of the event: the one record that its data contains. */
export function eventSubject(data: unknown): { name: string; record: EventSubject } {
  const found = Object.entries((data ?? {}) as Record<string, EventSubject>).find(
    ([, value]) => typeof value === "object" && value !== null,
  );
  const [name = "", record = {}] = found ?? [];
  return { name, record };
}

/** Returns the id of the message that the event is about. */
export function subjectMessageId({ data }: FollowedEvent): string | undefined {
  const { name, record } = eventSubject(parseObject(data)?.["data"]);
  return name === "message" ? record.id : undefined;
}

/** Formats the event: time, type, subject, and the error if there is one. */
export function eventLine({ id, type, data }: FollowedEvent): string {
  const event = parseObject(data) ?? {};
  const { record } = eventSubject(event["data"]);
  const what = [record.id, record.recipient].filter((part) => part !== undefined).join("  ");
  const status = type.slice(type.indexOf(".") + 1);
  const error = record.error ? `  ${paintStatus(status, record.error.code)}` : "";
  const timestamp = typeof event["timestamp"] === "string" ? event["timestamp"] : "";
  return `${paint("dim", timestamp)}  ${paintStatus(status, type.padEnd(19))}  ${what}${error}  ${paint("dim", `(${id})`)}`;
}
