/** Fetches the reports of a carrier that sends no callbacks, page by page. The position is stored when everything on a page is committed. */
import { errorFields } from "../../model/log.ts";
import { RepeatingJob } from "../../lib/background-job.ts";
import type { AddressGate } from "../../outbound/address-gate.ts";
import { HttpClient } from "../../outbound/http-client.ts";
import { parseIdentifier } from "../carrier-fields.ts";
import { storeReports, type CarrierReports } from "../carrier-request.ts";
import { hasLease, type LeasedHost } from "../provider.ts";
import type { CarrierDefinition } from "./definition.ts";
import { textAt, type JsonPath } from "./json-path.ts";
import { compileFormat, type ReadDocument } from "./format.ts";
import type { DefinitionReader } from "./reader.ts";
import type { ParseReports } from "./reports.ts";
import type { Auth } from "./auth.ts";
import type { AccessTokens } from "./oauth2.ts";
import { compileCall, type CompiledCall } from "./call.ts";

export type CarrierPoll = {
  call: CompiledCall<"cursor">;
  next: JsonPath;
  read: ReadDocument;
  tokens: AccessTokens | undefined;
  everyMs: number;
};

const EVERY_SECONDS = 5;
const TIMEOUT_MS = 30_000;
// About a thousand reports. A longer page is not read.
const MAX_PAGE_BYTES = 524_288;
const PART_SIZE = 500;
const MAX_EMPTY_PAGES = 10;
// A carrier that does not respond must not delay the end of the link.
const STOP_MS = 2_000;

export function compilePoll(reader: DefinitionReader, { poll }: CarrierDefinition, auth: Auth): CarrierPoll | undefined {
  if (poll === undefined) return undefined;
  const { every_seconds: seconds = EVERY_SECONDS } = poll;
  const { url, headers = {}, query = {} } = poll;
  const definition = { url, headers, query, method: "GET" } as const;
  return {
    call: compileCall(reader, definition, { at: "poll", auth, names: ["cursor"], plainNames: [] }),
    tokens: auth.tokens,
    next: reader.path(poll.next, "poll.next"),
    read: compileFormat(reader, poll, "poll"),
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
export function startPolling(
  { call, next, read, tokens, everyMs }: CarrierPoll,
  { parseReports, host, gate }: PollParts,
): () => Promise<void> {
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
    const failure = await tokens?.ready({ gate }, stopping);
    if (failure !== undefined) throw new Error(failure.reason);
    const outcome = await client.call(
      call.toRequest(() => known, host.now()),
      stopping,
    );
    if (stopping.aborted) return everyMs;
    if (outcome.kind !== "response") throw outcome.error;
    const document = outcome.status === 200 ? read(outcome.text) : undefined;
    if (document === undefined) throw new Error(`HTTP ${outcome.status} in place of a page of reports of up to 512 kB and 16,384 values`);
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
