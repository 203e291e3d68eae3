/** The bulk sends of this tab, one for each session, which outlive their pages, and the hook that shows one. */
import type { Godwit } from "godwit-sdk";
import { useEffect, useState } from "preact/hooks";
import type { BulkRun, RunState } from "./bulk-run.ts";
import { forgetFinished } from "./finished-run.ts";

/** By the client of the session. */
const runs = new Map<Godwit, BulkRun>();

export const currentRun = (api: Godwit): BulkRun | undefined => runs.get(api);

export function keepRun(api: Godwit, run: BulkRun | undefined): void {
  if (run === undefined) runs.delete(api);
  else runs.set(api, run);
}

/** Ends the send with its session. */
export function forgetRun(api: Godwit): void {
  runs.get(api)?.leave();
  runs.delete(api);
  forgetFinished();
}

export function useRunState(run: BulkRun): RunState {
  const [state, setState] = useState(run.state);
  useEffect(() => {
    const update = (): void => setState(run.state);
    update();
    return run.subscribe(update);
  }, [run]);
  return state;
}

/** The browser asks before it leaves a page that sends: the rows that follow would not be sent. */
export function useUnloadWarning(isActive: boolean): void {
  useEffect(() => {
    if (!isActive) return undefined;
    const warn = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isActive]);
}
