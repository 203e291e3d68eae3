/** W3C Trace Context: the trace of a request, from its headers and as stored with a message. A malformed header is ignored, since a
 *  trace is never a reason to refuse a request. */
import { randomBytes } from "node:crypto";

/** A `traceparent` of version 00, and after a space the `tracestate`, if there is one. */
export type Trace = string & { readonly trace: unique symbol };

// Version, trace, span, flags. A later version may add fields after another dash.
const PARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const SAMPLED = 1;
// `sampled`, and `random` for the trace id (level 2). Unknown flags are not passed on, since that would confirm them.
const KNOWN_FLAGS = 3;
const TRACE_ID_AT = 3;
const SPAN_ID_AT = 36;
const FLAGS_AT = 53;
const PARENT_LENGTH = 55;

// The minimum that the specification requires to be passed on.
const MAX_STATE_CHARS = 512;
const MAX_STATE_MEMBERS = 32;
const MEMBER = /^([a-z0-9][a-z0-9_\-*/@]{0,255})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

type Header = string | string[] | undefined;

/** Reads the trace from the headers. Node.js joins repeated headers with commas: two parents are invalid, while a state may come in
 *  several headers. */
export function readTrace({ traceparent, tracestate }: Readonly<Record<string, Header>>): Trace | undefined {
  if (typeof traceparent !== "string") return undefined;
  const [, version, traceId, spanId, flags, more] = PARENT.exec(traceparent.trim()) ?? [];
  if (traceId === undefined || spanId === undefined || (version === "00" && more !== undefined)) return undefined;
  return toTrace({ traceId, spanId, flags: Number.parseInt(flags ?? "", 16) & KNOWN_FLAGS, state: readState(tracestate) });
}

function readState(header: Header): string {
  if (typeof header !== "string" || header.length > MAX_STATE_CHARS) return "";
  const all = header.split(",").map((member) => member.trim());
  const members = all.filter((member) => member !== "");
  const names = new Set(members.map((member) => MEMBER.exec(member)?.[1]));
  return names.has(undefined) || names.size !== members.length || members.length > MAX_STATE_MEMBERS ? "" : members.join(",");
}

type Parts = { traceId: string; spanId: string; flags: number; state: string };

const toTrace = ({ traceId, spanId, flags, state }: Parts): Trace =>
  `00-${traceId}-${spanId}-0${flags}${state === "" ? "" : ` ${state}`}` as Trace;

export const traceIdOf = (trace: Trace): string => trace.slice(TRACE_ID_AT, TRACE_ID_AT + 32);
export const spanIdOf = (trace: Trace): string => trace.slice(SPAN_ID_AT, SPAN_ID_AT + 16);
const flagsOf = (trace: Trace): number => Number(trace.slice(FLAGS_AT, PARENT_LENGTH));
export const stateOf = (trace: Trace): string => trace.slice(PARENT_LENGTH + 1);
export const isSampled = (trace: Trace): boolean => (flagsOf(trace) & SAMPLED) !== 0;

/** The same trace with a new span. */
export const childOf = (trace: Trace, flags = flagsOf(trace)): Trace =>
  toTrace({ traceId: traceIdOf(trace), spanId: newId(8), flags, state: stateOf(trace) });

/** The same trace with a new span, marked as sampled. */
export const sampledChildOf = (trace: Trace): Trace => childOf(trace, flagsOf(trace) | SAMPLED);

/** A new trace, marked as sampled. */
export const newTrace = (): Trace => toTrace({ traceId: newId(16), spanId: newId(8), flags: SAMPLED, state: "" });

/** The headers of an outgoing request. */
export function traceHeaders(trace: Trace): Record<string, string> {
  const traceparent = trace.slice(0, PARENT_LENGTH);
  return trace.length === PARENT_LENGTH ? { traceparent } : { traceparent, tracestate: stateOf(trace) };
}

/** A random id. An id of zeros only is invalid. */
function newId(bytes: 8 | 16): string {
  const id = randomBytes(bytes).toString("hex");
  return /^0+$/.test(id) ? newId(bytes) : id;
}
