/** The log: JSON lines, or a line a person reads. Never a body, a full number or a secret: callers log ids and codes. */
import { Writable } from "node:stream";
import pino, { type DestinationStream, type Logger } from "pino";
import { isoTime } from "./time.ts";

export type Log = Logger;
export type LogStyle = "json" | "pretty" | "silent";

/** Lines are written in blocks, so a busy service makes few system calls; `flush` empties the buffer before an exit. */
const BUFFER_BYTES = 16_000;
const FLUSH_INTERVAL_MS = 250;
// A reader of our output that has stalled must not fill our memory: past this, lines are dropped, and their number is told.
const MAX_BUFFER_BYTES = 16 * 1_048_576;

export type LogOutput = {
  log: Log;
  /** A line of fields that need no escaping, written as it is: for the one line that every request writes. */
  writeLine: (fields: string) => void;
  flush: () => void;
};

export function createLog(style: LogStyle): LogOutput {
  if (style === "silent") return { log: pino({ level: "silent" }), writeLine: () => undefined, flush: () => undefined };
  if (style === "pretty") return logTo(prettyStream());
  const destination = pino.destination({ dest: 1, minLength: BUFFER_BYTES, maxLength: MAX_BUFFER_BYTES, sync: false });
  let dropped = 0;
  destination.on("drop", () => (dropped += 1));
  destination.on("drain", () => {
    if (dropped > 0)
      destination.write(`{"level":40${timestamp()},"writes":${dropped},"msg":"log lines dropped: the reader was too slow"}\n`);
    dropped = 0;
  });
  const timer = setInterval(() => destination.flush(), FLUSH_INTERVAL_MS);
  timer.unref();
  return logTo(destination, () => {
    clearInterval(timer);
    destination.flushSync();
  });
}

const INFO = 30;

/** A log of JSON lines on any stream; `flush` empties the stream's own buffer. */
export function logTo(stream: DestinationStream, flush: () => void = () => undefined): LogOutput {
  // Lines of one turn of the event loop go to the stream as one.
  let pending = "";
  const writePending = (): void => {
    stream.write(pending);
    pending = "";
  };
  return {
    log: pino({ level: "info", base: null, timestamp }, stream),
    writeLine: (fields) => {
      if (pending === "") setImmediate(writePending);
      pending += `{"level":${INFO}${timestamp()}${fields}}\n`;
    },
    flush: () => {
      if (pending !== "") writePending();
      flush();
    },
  };
}

const timestamp = (): string => `,"time":"${isoTime(Date.now())}"`;

/** `12:01:07 info  listening url=http://127.0.0.1:8080` */
function prettyLine(line: string): string {
  const { level, time, msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const label = pino.levels.labels[Number(level)] ?? "info";
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  return `${[String(time).slice(11, 19), label.padEnd(5), String(msg), ...fields].join(" ")}\n`;
}

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
