/** Fetches the reports of a carrier that sends no callbacks, page by page. The position is stored when everything on a page is committed. */
import { errorFields } from "../../model/log.ts";
import { RepeatingJob } from "../../lib/background-job.ts";
import type { AddressGate } from "../../outbound/address-gate.ts";
import { HttpClient } from "../../outbound/http-client.ts";
import { parseIdentifier } from "../carrier-fields.ts";
import { storeReports, type CarrierReports } from "../carrier-request.ts";
import { hasLease, type LeasedHost } from "../provider.ts";
import type { CarrierDefinition } from "./definition.ts";
import { parseDocument, textAt, type JsonPath } from "./json-path.ts";
import type { DefinitionReader } from "./reader.ts";
import type { ParseReports } from "./reports.ts";
import { compileCall, type CompiledCall } from "./call.ts";

export type CarrierPoll = { call: CompiledCall<"cursor">; next: JsonPath; everyMs: number };

const EVERY_SECONDS = 5;
const TIMEOUT_MS = 30_000;
// Some thousand reports. A longer page is not read.
const MAX_PAGE_BYTES = 1_048_576;
const PART_SIZE = 500;
const MAX_EMPTY_PAGES = 10;
// A carrier that does not respond must not delay the end of the link.
const STOP_MS = 2_000;

export function compilePoll(reader: DefinitionReader, { poll, request }: CarrierDefinition): CarrierPoll | undefined {
  if (poll === undefined) return undefined;
  const { every_seconds: seconds = EVERY_SECONDS } = poll;
  const definition = { ...poll, ...(request.auth === undefined ? {} : { auth: request.auth }), method: "GET" } as const;
  return {
    call: compileCall(reader, definition, "poll", { names: ["cursor"], plainNames: [] }),
    next: reader.path(poll.next, "poll.next"),
    everyMs: seconds * 1_000,
  };
}

/** Parts of a size that is stored in a moment. */
function inParts({ receipts, messages }: CarrierReports): CarrierReports[] {
  const count = Math.ceil(Math.max(receipts.length, messages.length) / PART_SIZE);
  return Array.from({ length: count }, (_, index) => {
    const range = [index * PART_SIZE, (index + 1) * PART_SIZE] as const;
    return { receipts: receipts.slice(...range), messages: messages.slice(...range) };
  });
}

type PollParts = { parseReports: ParseReports; host: LeasedHost; gate: AddressGate | undefined };

/** Polls from now on. Returns the function that ends it. */
export function startPolling({ call, next, everyMs }: CarrierPoll, { parseReports, host, gate }: PollParts): () => Promise<void> {
  const client = new HttpClient({ gate, connections: 1, timeoutMs: TIMEOUT_MS, maxBodyBytes: MAX_PAGE_BYTES });
  const onError = (error: unknown): void =>
    host.log.warn(
      { event: "providers.receive_failed", provider: "http", ...errorFields(error) },
      "a carrier's reports could not be fetched",
    );
  let position: string | null | undefined;
  let emptyPages = 0;
  const job = new RepeatingJob({ onError, afterErrorMs: everyMs, stopWithinMs: STOP_MS });

  const turn = async (stopping: AbortSignal): Promise<number> => {
    if (!hasLease(host)) return everyMs;
    position ??= (await host.cursor?.read()) ?? null;
    const known = position;
    const outcome = await client.call(
      call.toRequest(() => known, host.now()),
      stopping,
    );
    if (stopping.aborted) return everyMs;
    if (outcome.kind !== "response") throw outcome.error;
    const document = outcome.status === 200 ? parseDocument(outcome.text) : undefined;
    if (document === undefined) throw new Error(`HTTP ${outcome.status} in place of a page of reports`);
    const reports = parseReports(document);
    for (const part of inParts(reports)) if (!(await storeReports(host, part))) return everyMs;
    emptyPages = reports.receipts.length + reports.messages.length > 0 ? 0 : emptyPages + 1;
    const following = parseIdentifier(textAt(next, document)) ?? known;
    if (following === null || following === known) return everyMs;
    await host.cursor?.store(following);
    position = following;
    // Some carriers name another position with every page, even if there is nothing new.
    return emptyPages < MAX_EMPTY_PAGES ? 0 : everyMs;
  };
  job.repeat(turn);
  return async () => {
    await job.stop();
    await client.close();
  };
}
