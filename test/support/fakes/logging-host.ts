/** A host that keeps the log, and counts the calls of `changed`. */
import { Writable } from "node:stream";
import pino from "pino";
import { RecordingHost } from "../recording-host.ts";

export class LoggingHost extends RecordingHost {
  lines = "";
  changes = 0;
  override readonly log = pino(
    { level: "trace" },
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.lines += chunk.toString();
        done();
      },
    }),
  );

  override changed(): void {
    this.changes += 1;
  }
}
