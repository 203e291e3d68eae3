/** The progress of a bulk send, with its buttons. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { formatCount, formatPercent, plural } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useInterval } from "../lib/timing.ts";
import { useMay } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { Facts } from "../ui/facts.tsx";
import { Problem } from "../ui/problem.tsx";
import { downloadResults, type BulkRun, type RunState } from "./bulk-run.ts";
import { useRunState, useUnloadWarning } from "./current-run.ts";
import type { FinishedRun } from "./finished-run.ts";

const REFRESH_MS = 5_000;

const STATUS_WORDS: Readonly<Record<RunState["status"], string>> = {
  sending: "Sending…",
  pausing: "Pausing after the current batch…",
  paused: "Paused",
  done: "All rows are done",
  canceling: "Canceling…",
  stopped: "Not all messages are canceled",
  canceled: "Canceled",
};

export function RunCard({ run, onClose }: { run: BulkRun; onClose: () => void }): JSX.Element {
  const state = useRunState(run);
  useUnloadWarning(run.isActive);
  const { status, error } = state;
  return (
    <section class="card stack" aria-label="Progress">
      <Outcome name={run.file.name} total={run.total} state={state} />
      <Problem error={error} />
      <RunButtons run={run} state={state} onClose={onClose} />
      <p class="hint">
        {status !== "done" &&
          status !== "canceled" &&
          "The send continues while you use other pages of the console in this tab, and stops when the tab is closed. Then choose the same file with the same settings within 24 hours: each row is sent once. "}
        <Link to="batches">The batches</Link> show the delivery.
      </p>
    </section>
  );
}

/** A send that ended before the page was loaded again. */
export const FinishedCard = ({ run: { name, total, state, results }, onClose }: { run: FinishedRun; onClose: () => void }): JSX.Element => (
  <section class="card stack" aria-label="Progress">
    <Outcome name={name} total={total} state={state} />
    <div class="actions">
      <button type="button" onClick={() => downloadResults(name, results)}>
        Download results
      </button>
      <button type="button" onClick={onClose}>
        New send
      </button>
    </div>
    <p class="hint">
      <Link to="batches">The batches</Link> show the delivery.
    </p>
  </section>
);

type OutcomeProps = { name: string; total: number; state: RunState };

const Outcome = ({ name, total, state: { status, rows, counts, replayed, canceled, tooLate } }: OutcomeProps): JSX.Element => (
  <>
    <div class="card-head">
      <h2>{name}</h2>
      <p role="status">{STATUS_WORDS[status]}</p>
    </div>
    <progress class="bulk-progress" aria-label="Progress of the send" max={Math.max(1, total)} value={rows} />
    <Facts
      rows={[
        ["Rows", `${formatCount(rows)} of ${formatCount(total)} (${formatPercent(rows / Math.max(1, total))})`],
        ["Accepted", formatCount(counts.accepted)],
        ["Refused", counts.refused > 0 && formatCount(counts.refused)],
        ["Invalid", counts.invalid > 0 && formatCount(counts.invalid)],
        ["Canceled", canceled > 0 && formatCount(canceled)],
        ["Too late to cancel", tooLate > 0 && formatCount(tooLate)],
      ]}
    />
    {replayed > 0 && (
      <p class="notice">
        {plural(replayed, "row was", "rows were")} accepted before, from the same file with the same settings, and not sent again. To send
        them again, use another send id.
      </p>
    )}
  </>
);

function RunButtons({ run, state: { status, counts }, onClose }: { run: BulkRun; state: RunState; onClose: () => void }): JSX.Element {
  const mayRead = useMay("messages:read");
  const [isCanceling, setCanceling] = useState(false);
  const isStopped = !run.isActive;
  const isDone = status === "done";
  // A send that is done may still have scheduled and queued messages.
  const open = useResource(isDone && counts.accepted > 0 && mayRead ? "open messages" : null, () => run.hasOpenMessages());
  useInterval(open.reload, open.data === true ? REFRESH_MS : null);
  const mayCancel = isStopped && status !== "canceled" && counts.accepted > 0 && mayRead && (!isDone || open.data === true);
  return (
    <div class="actions">
      {status === "sending" && (
        <button type="button" class="primary" onClick={() => run.pause()}>
          Pause
        </button>
      )}
      {status === "paused" && (
        <button type="button" class="primary" onClick={() => void run.send()}>
          Continue
        </button>
      )}
      <button type="button" onClick={() => run.downloadResults()}>
        Download results
      </button>
      {mayCancel && (
        <button type="button" onClick={() => setCanceling(true)}>
          Cancel messages
        </button>
      )}
      {isStopped && (
        <button type="button" onClick={onClose}>
          New send
        </button>
      )}
      {isCanceling && <CancelDialog run={run} onClose={() => setCanceling(false)} />}
    </div>
  );
}

function CancelDialog({ run, onClose }: { run: BulkRun; onClose: () => void }): JSX.Element {
  const action = useAction(async () => {
    onClose();
    await run.cancel();
  });
  return (
    <FormDialog title="Cancel messages" submit="Cancel messages" dismiss="Keep them" isDangerous action={action} onClose={onClose}>
      <p>
        Cancels the messages of this send that are still scheduled or queued. Messages that were submitted to a carrier are not affected.
        The other rows are not sent.
      </p>
    </FormDialog>
  );
}
