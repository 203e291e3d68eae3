/** The results of the last finished bulk send, which the tab keeps for a reload until its session ends. */
import type { BulkRun, RunState } from "./bulk-run.ts";

export type FinishedRun = { keyId: string; name: string; total: number; state: RunState; results: string };

const STORED = "godwit:bulk-results";
// A tab can store about five million characters. Longer results are lost with the page, as is a send that has not ended.
const MAX_BYTES = 1_000_000;

/** Keeps the results of the send once it ends. */
export function keepWhenFinished(run: BulkRun, keyId: string): void {
  run.subscribe(() => void keep(run, keyId));
}

async function keep({ file, total, state, results }: BulkRun, keyId: string): Promise<void> {
  if ((state.status !== "done" && state.status !== "canceled") || results.size > MAX_BYTES) return;
  const finished: FinishedRun = { keyId, name: file.name, total, state, results: await results.text() };
  try {
    sessionStorage.setItem(STORED, JSON.stringify(finished));
  } catch {
    // The storage is full. The page still has the results.
  }
}

export function readFinished(keyId: string): FinishedRun | undefined {
  try {
    const finished = JSON.parse(sessionStorage.getItem(STORED) ?? "null") as FinishedRun | null;
    return finished?.keyId === keyId ? finished : undefined;
  } catch {
    return undefined;
  }
}

export const forgetFinished = (): void => sessionStorage.removeItem(STORED);
