/** The log: JSON lines, or readable lines. Callers log ids and codes, and never a body, a full number or a secret. */
import { Writable } from "node:stream";
import pino, { type DestinationStream, type Logger } from "pino";
import { LineLimit } from "./line-limit.ts";
import type { EventOf, LogEvent } from "./log-events.ts";
import { isoTime } from "../lib/time.ts";
import { within } from "../lib/wait.ts";

/** Every warning and error names its event, from the table in log-events.ts. */
export type Log = {
  debug(fields: object, message: string): void;
  info(message: string): void;
  info(fields: object, message: string): void;
  warn(fields: { event: EventOf<"warn">; [field: string]: unknown }, message: string): void;
  error(fields: { event: EventOf<"error">; [field: string]: unknown }, message: string): void;
  /** Returns a log whose lines also have these fields. */
  child(fields: object): Log;
};
export type LogStyle = "json" | "pretty" | "silent";
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Lines are written in blocks, so that a busy service makes few system calls. `flush` empties the buffer before an exit. */
const BUFFER_BYTES = 16_000;
// A write of this size to a pipe is never mixed with the writes of other processes. Only a line that is longer than this can be.
const PIPE_BYTES = 4_096;
const FLUSH_INTERVAL_MS = 250;
// A stalled reader of standard output must not fill the memory: beyond this size, lines are dropped and counted.
const MAX_BUFFER_BYTES = 16 * 1_048_576;

// A reader that takes nothing does not keep the process from its end.
const LAST_FLUSH_MS = 2_000;

const LINES_DROPPED: EventOf<"warn"> = "log.lines_dropped";

export type LogOutput = {
  log: Log;
  /** Writes a line of fields that need no escaping, unchanged: for the line of each request. */
  writeLine: (fields: string) => void;
  flush: () => Promise<void>;
};

type LogOptions = { isShared?: boolean; level?: LogLevel };

/** `isShared`: several processes write to the same output. Lines below the level are left out. */
export function createLog(style: LogStyle, { isShared = false, level = "info" }: LogOptions = {}): LogOutput {
  if (style === "silent") return { log: pino({ level: "silent" }), writeLine: () => undefined, flush: () => Promise.resolve() };
  if (style === "pretty") return logTo(prettyStream(), { level });
  const sizes = isShared ? { minLength: PIPE_BYTES - 1, maxWrite: PIPE_BYTES } : { minLength: BUFFER_BYTES };
  const destination = pino.destination({ dest: 1, ...sizes, maxLength: MAX_BUFFER_BYTES, sync: false });
  let dropped = 0;
  destination.on("drop", () => (dropped += 1));
  destination.on("drain", () => {
    if (dropped > 0)
      destination.write(
        `{"level":40${timestamp()},"event":"${LINES_DROPPED}","writes":${dropped},"msg":"log lines dropped: the reader was too slow"}\n`,
      );
    dropped = 0;
  });
  setInterval(() => destination.flush(), FLUSH_INTERVAL_MS).unref();
  return logTo(destination, { level, flush: () => within(emptied(destination), LAST_FLUSH_MS) });
}

/** Resolves when the buffer is empty. A flush during a write only waits for that write, and each writes one block: it is repeated until two in
 *  a row wrote nothing. Not `flushSync`, which never returns if the reader is gone. */
async function emptied(destination: ReturnType<typeof pino.destination>): Promise<void> {
  let written = 0;
  const count = (bytes: number): void => void (written += bytes);
  destination.on("write", count);
  for (let idle = 0; idle < 2;) {
    const before = written;
    await new Promise<void>((resolve) => destination.flush(() => resolve()));
    idle = written === before ? idle + 1 : 0;
  }
  destination.off("write", count);
}

const INFO = 30;

/** A log of JSON lines on any stream; `flush` empties the stream's own buffer. */
export function logTo(
  stream: DestinationStream,
  { level = "info", flush = () => Promise.resolve() }: { level?: LogLevel; flush?: () => Promise<void> } = {},
): LogOutput {
  const log = pino({ level, base: null, timestamp }, stream);
  const hasRequests = log.isLevelEnabled("info");
  // Lines of one turn of the event loop are written to the stream together.
  let pending = "";
  const writePending = (): void => {
    stream.write(pending);
    pending = "";
  };
  return {
    log: limited(log, new LineLimit()),
    writeLine: (fields) => {
      if (!hasRequests) return;
      if (pending === "") setImmediate(writePending);
      pending += `{"level":${INFO}${timestamp()}${fields}}\n`;
    },
    flush: () => {
      if (pending !== "") writePending();
      return flush();
    },
  };
}

/** Events about one message each: the log names every one of them. */
const UNLIMITED: ReadonlySet<LogEvent> = new Set<LogEvent>(["delivery.outcome_unknown"]);

/** The log with a limit for the lines of each warning and error. A failure is an event with the code of its error. */
function limited(log: Logger, limit: LineLimit): Log {
  const write = (level: "warn" | "error", fields: { event: LogEvent; error?: LoggedError }, message: string): void => {
    const { event, error } = fields;
    const left = UNLIMITED.has(event) ? 0 : limit.take(`${event} ${error?.code ?? error?.name ?? ""}`, performance.now());
    if (left !== undefined) log[level](left === 0 ? fields : { ...fields, lines_left_out: left }, message);
  };
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields: object | string, message?: string) => (typeof fields === "string" ? log.info(fields) : log.info(fields, message)),
    warn: (fields, message) => write("warn", fields, message),
    error: (fields, message) => write("error", fields, message),
    child: (fields) => limited(log.child(fields), limit),
  };
}

// Enough for the frames that V8 keeps. The sizes limit the line of any error.
const MAX_MESSAGE = 1_000;
const MAX_STACK = 4_000;
const MAX_CODE = 64;
const MAX_CAUSES = 5;

export type LoggedError = {
  name: string;
  message: string;
  /** An SQLSTATE, or the code of a system or Node.js error. */
  code?: string | undefined;
  /** The frames, without the message. */
  stack?: string | undefined;
  cause?: LoggedError | undefined;
};

/** An error as fields of a log line. Only these members: PostgreSQL's `detail` and `where` quote rows. */
export const errorFields = (error: unknown): { error: LoggedError } => ({ error: toLogged(error, MAX_CAUSES) });

/** Returns a function that logs the error of background work. */
export const reportError =
  (log: Log, event: EventOf<"error">, message: string) =>
  (error: unknown): void =>
    log.error({ event, ...errorFields(error) }, message);

function toLogged(error: unknown, causes: number): LoggedError {
  if (!(error instanceof Error)) return { name: typeof error, message: typeof error === "string" ? bounded(error) : "" };
  const { name, message, stack = "", cause } = error;
  const code = "code" in error && typeof error.code === "string" ? error.code.slice(0, MAX_CODE) : undefined;
  // `JSON.parse`, and PostgreSQL in its class 22 (data exception), quote the value that they refuse: it may be the text of a message.
  const quotesValue = error instanceof SyntaxError || code?.startsWith("22") === true;
  return {
    name,
    message: bounded(quotesValue ? message.replace(/".*"/s, '"…"') : message),
    code,
    stack: framesOf(stack),
    cause: cause === undefined || causes === 0 ? undefined : toLogged(cause, causes - 1),
  };
}

/** The message with a limited length and without full phone numbers. */
const bounded = (message: string): string => message.replaceAll(/\+\d{7,15}/g, "+…").slice(0, MAX_MESSAGE);

const framesOf = (stack: string): string | undefined => {
  const frames = stack.split("\n").filter((line) => /^ +at /.test(line));
  return frames.join("\n").slice(0, MAX_STACK) || undefined;
};

const timestamp = (): string => `,"time":"${isoTime(Date.now())}"`;

/** Formats a line: `12:01:07 info  listening url=http://127.0.0.1:8080` */
function prettyLine(line: string): string {
  const { level, time, msg, error, ...rest } = JSON.parse(line) as Record<string, unknown> & { error?: LoggedError };
  const label = pino.levels.labels[Number(level)] ?? "info";
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  return `${[String(time).slice(11, 19), label.padEnd(5), String(msg), ...fields].join(" ")}\n${error === undefined ? "" : prettyError(error)}`;
}

const prettyError = ({ name, message, code, stack, cause }: LoggedError): string =>
  [
    `  ${name}: ${message}${code === undefined ? "" : ` (${code})`}\n`,
    ...(stack === undefined ? [] : [`${stack}\n`]),
    ...(cause === undefined ? [] : [`  caused by\n${prettyError(cause)}`]),
  ].join("");

const prettyStream = (): Writable =>
  new Writable({
    write(chunk: Buffer, _encoding, done) {
      const lines = chunk
        .toString()
        .split("\n")
        .filter((line) => line !== "");
      process.stdout.write(lines.map(prettyLine).join(""), done);
    },
  });
