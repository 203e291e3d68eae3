/** Cancels the messages of a batch that are still scheduled or queued. */

/** The requests that a cancellation makes. */
export type CancelRequests = {
  /** The numbers of messages of a batch, by status. */
  countStatuses: (batchId: string) => PromiseLike<Readonly<Record<string, number>>>;
  list: (query: { batch_id: string; status: CancelableStatus; limit: number }, cursor: string | undefined) => PromiseLike<MessagePage>;
  /** Returns false if the message can no longer be canceled. */
  cancel: (id: string) => PromiseLike<boolean>;
};
export type MessagePage = { data: readonly { id: string }[]; next_cursor: string | null };
type CancelableStatus = (typeof CANCELABLE)[number];

export type CancelCounts = { canceled: number; tooLate: number };

const CANCELABLE = ["scheduled", "queued"] as const;
// The largest page of a list.
const PAGE = 100;
// Enough to hide the time of one request.
const AT_ONCE = 10;

export async function cancelBatch(requests: CancelRequests, batchId: string): Promise<CancelCounts> {
  const counts = { canceled: 0, tooLate: 0 };
  const statuses = await requests.countStatuses(batchId);
  for (const status of CANCELABLE) {
    if ((statuses[status] ?? 0) === 0) continue;
    for (let cursor: string | undefined | null = undefined; cursor !== null;) {
      const page: MessagePage = await requests.list({ batch_id: batchId, status, limit: PAGE }, cursor);
      for (let from = 0; from < page.data.length; from += AT_ONCE) {
        const done = await Promise.all(page.data.slice(from, from + AT_ONCE).map(({ id }) => requests.cancel(id)));
        for (const isCanceled of done) counts[isCanceled ? "canceled" : "tooLate"] += 1;
      }
      cursor = page.next_cursor;
    }
  }
  return counts;
}
