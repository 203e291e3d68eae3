/** Reads the export of a person's data, one record at a time. */
import { Deadline } from "./deadline.ts";
import { GodwitError } from "./errors.ts";
import { withinDeadline } from "./exchange.ts";
import type { BodyOf } from "./operation.ts";
import { checkOptions, type OptionNames } from "./option-names.ts";
import type { Transport } from "./transport.ts";

export type ExportOptions = {
  /** Aborts the export at any point. The iteration is rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** The iteration fails after this time without any data. The service waits while the quota is used up. Default: 2 minutes. */
  silenceMs?: number | undefined;
};

/** A record of an export. `object` names its kind, such as `message` or `timeline_entry`. */
export type ExportedRecord = { object: string } & Record<string, unknown>;

const OPTIONS: OptionNames<ExportOptions> = { silenceMs: true, signal: true };
const MEDIA_TYPE = "application/x-ndjson";
const SILENCE_MS = 120_000;
// A message and an entry of its timeline have less than 40 kB. The limit stops a server that never ends a line.
const MAX_CHARACTERS = 1_000_000;

/** The records of an export. Iterate it once, with `for await`. Fails if the export is incomplete. */
export class RecipientExport implements AsyncIterable<ExportedRecord> {
  /** The number of records of each kind, once the iteration has ended. */
  counts: Readonly<Record<string, number>> | undefined;
  readonly #transport: Transport;
  readonly #body: BodyOf<"exportRecipient">;
  readonly #options: ExportOptions;

  constructor(transport: Transport, body: BodyOf<"exportRecipient">, options: ExportOptions) {
    checkOptions(options, OPTIONS, "an export");
    this.#transport = transport;
    this.#body = body;
    this.#options = options;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ExportedRecord, void, undefined> {
    for await (const line of this.#lines()) {
      const record = JSON.parse(line) as ExportedRecord;
      if (record.object === "export_end") {
        this.counts = record["counts"] as Record<string, number>;
        return;
      }
      yield record;
    }
    throw new GodwitError("the export is incomplete: request it again");
  }

  async *#lines(): AsyncGenerator<string, void, undefined> {
    const { signal, silenceMs = SILENCE_MS } = this.#options;
    const deadline = new Deadline(signal);
    const restartTimer = (): void => deadline.set(silenceMs, "the next record of the export");
    try {
      restartTimer();
      const response = await this.#transport.open("exportRecipient", { body: this.#body }, { headers: { accept: MEDIA_TYPE }, deadline });
      const [reader, decoder] = [response.body?.getReader(), new TextDecoder()];
      if (reader === undefined) return;
      let rest = "";
      for (;;) {
        const { done, value } = await withinDeadline(() => reader.read(), deadline);
        if (done) return;
        const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        if (rest.length > MAX_CHARACTERS) throw new GodwitError("a line of the export is too long");
        // The caller may take long to process the records; that time does not count as silence of the service.
        deadline.pause();
        yield* lines;
        restartTimer();
      }
    } finally {
      deadline.end();
    }
  }
}
