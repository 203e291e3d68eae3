/** A status, shown by its name and a color. */
import type { JSX } from "preact";
import { words } from "../lib/format.ts";

type Tone = "good" | "bad" | "busy" | "wait" | "flat" | "inbound";

const TONES: Readonly<Record<string, Tone>> = {
  // Messages
  scheduled: "wait",
  queued: "wait",
  sending: "busy",
  sent: "busy",
  delivered: "good",
  read: "good",
  undelivered: "bad",
  failed: "bad",
  expired: "bad",
  canceled: "flat",
  received: "inbound",
  // Endpoints and their deliveries
  enabled: "good",
  disabled: "flat",
  failing: "bad",
  pending: "wait",
  succeeded: "good",
  // Templates
  draft: "flat",
  approved: "good",
  rejected: "bad",
  paused: "bad",
  archived: "flat",
  // Batches
  processing: "busy",
  completed: "good",
  // Files
  ready: "good",
  // Links
  connected: "good",
  connecting: "busy",
  throttled: "wait",
  down: "bad",
  // Keys and suppressions
  active: "good",
  revoked: "flat",
  lifted: "flat",
  suppressed: "bad",
  // Entries of the audit log
  sealed: "good",
  unsealed: "wait",
  // Attempts
  accepted: "good",
  refused: "bad",
  unknown: "bad",
  written: "busy",
};

/** Shows the status. An unknown status is shown without a color of its own. */
export const Status = ({ of }: { of: string }): JSX.Element => <span class={`status ${TONES[of] ?? "flat"}`}>{words(of)}</span>;

/** The status of an HTTP response. */
export const ResponseStatus = ({ of }: { of: number }): JSX.Element => (
  <span class={`status ${of >= 500 ? "bad" : of >= 400 ? "wait" : "good"}`}>{of}</span>
);
