/** Cancels the messages of a bulk send that are still scheduled or queued, by the batches in its result file. */
import { randomUUID } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import type { Flags } from "../config.ts";
import { cancelBatch, type CancelRequests, type MessagePage } from "../bulk/cancel-batch.ts";
import { RESULT_COLUMNS } from "../bulk/results.ts";
import { StartupError } from "../database/startup-error.ts";
import { readCsv } from "../lib/csv.ts";
import { Journal } from "./bulk-journal.ts";
import { callRepeatedly, expectSuccess, type ApiResponse, type Caller } from "./client.ts";
import { EXIT } from "./command.ts";
import { print, say } from "./output.ts";
import { ProgressLine } from "./progress-line.ts";

export async function cancelSend(call: Caller, results: string, flags: Flags): Promise<number> {
  if (!existsSync(results)) throw new StartupError(`there is no send to cancel: ${results} does not exist`);
  const requests = requestsOf(call);
  const progress = new ProgressLine();
  let [canceled, tooLate] = [0, 0];
  for await (const batch of batchesIn(results)) {
    const counts = await cancelBatch(requests, batch);
    [canceled, tooLate] = [canceled + counts.canceled, tooLate + counts.tooLate];
    progress.show(() => `${canceled.toLocaleString("en")} messages canceled`);
    if (call.repeat().signal.aborted) throw new StartupError(`interrupted: ${canceled} messages were canceled; the same command continues`);
  }
  progress.end();
  print(flags, { object: "bulk_cancellation", canceled, too_late: tooLate });
  if (!Journal.isPending(results)) return EXIT.done;
  say("a batch was on its way when the send stopped: --resume and then --cancel also cancel its messages");
  return EXIT.unknown;
}

/** The ids of the batches in a result file, in its order. */
async function* batchesIn(results: string): AsyncGenerator<string> {
  const column = RESULT_COLUMNS.indexOf("batch_id");
  let last = "";
  for await (const records of readCsv(createReadStream(results)))
    for (const { row, cells } of records) {
      const id = cells[column] ?? "";
      if (row === 1 || id === "" || id === last) continue;
      last = id;
      yield id;
    }
}

function requestsOf({ client, repeat }: Caller): CancelRequests {
  const quietly = () => ({ ...repeat(), onRetry: () => undefined });
  const get = async (path: string): Promise<ApiResponse> =>
    expectSuccess(await callRepeatedly(client, { method: "GET", path }, quietly()), client, {});
  return {
    countStatuses: async (batchId) => ((await get(`/v1/batches/${batchId}`)).json?.["statuses"] ?? {}) as Record<string, number>,
    list: async ({ limit, ...filter }, cursor) => {
      const query = new URLSearchParams({ ...filter, limit: String(limit), ...(cursor === undefined ? {} : { cursor }) });
      return (await get(`/v1/messages?${query.toString()}`)).json as unknown as MessagePage;
    },
    cancel: async (id) => {
      const request = { method: "POST", path: `/v1/messages/${id}/cancel`, headers: { "idempotency-key": randomUUID() } };
      const outcome = await callRepeatedly(client, request, quietly());
      // The message was submitted since the list was read.
      if (outcome.kind === "response" && outcome.status === 422) return false;
      expectSuccess(outcome, client, {});
      return true;
    },
  };
}
