/** The dialog that exports the messages of the filters as a CSV file: read page by page, with progress, and up to a limit. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { download } from "../lib/download.ts";
import { formatCount, plural } from "../lib/format.ts";
import { useApi, useSession } from "../session/use-session.ts";
import { Dialog, DialogForm } from "../ui/dialog.tsx";
import { toQuery, type Filters } from "./filters.ts";
import { CSV_HEAD, messageLine } from "./messages-csv.ts";
import { textMatcher } from "./text-search.ts";

const PAGE = 100;
// 50,000 messages: a file of about 20 MB in the memory of the browser.
const MAX_PAGES = 500;

type Progress = { read: number; written: number; isDone: boolean; isComplete: boolean };

export function ExportMessages({ filters, onClose }: { filters: Filters; onClose: () => void }): JSX.Element {
  const api = useApi();
  const { environment } = useSession().identity;
  const [progress, setProgress] = useState<Progress | undefined>(undefined);
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);
  const action = useAction(async () => {
    const { signal } = leaving.current;
    const isWanted = filters.search === undefined ? (): boolean => true : textMatcher(filters.search);
    const list = api.messages.list({ ...toQuery(filters, Date.now()), limit: PAGE }, { signal });
    const parts = [CSV_HEAD];
    let [read, written] = [0, 0];
    let pages = 0;
    for await (const { data } of list.pages()) {
      const lines = data.filter(isWanted).map(messageLine);
      parts.push(lines.join(""));
      [read, written, pages] = [read + data.length, written + lines.length, pages + 1];
      setProgress({ read, written, isDone: false, isComplete: false });
      if (pages >= MAX_PAGES) break;
    }
    signal.throwIfAborted();
    download(`messages-${environment}-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}Z.csv`, parts);
    setProgress({ read, written, isDone: true, isComplete: pages < MAX_PAGES });
  });
  return progress?.isDone === true ? (
    <Finished progress={progress} onClose={onClose} />
  ) : (
    <Dialog title="Export messages" onClose={onClose}>
      <DialogForm submit="Export" action={action} onClose={onClose}>
        <p>
          Creates a CSV file of the messages that match the filters, newest first, from up to {formatCount(PAGE * MAX_PAGES)} messages. It
          contains texts and phone numbers. Each {PAGE} messages count as one request of the quota.
        </p>
        {action.isRunning && (
          <>
            <progress aria-label="Export" />
            <p role="status">{plural(progress?.read ?? 0, "message")} loaded…</p>
          </>
        )}
      </DialogForm>
    </Dialog>
  );
}

const Finished = ({ progress: { written, isComplete }, onClose }: { progress: Progress; onClose: () => void }): JSX.Element => (
  <Dialog title="Export finished" onClose={onClose}>
    <p role="status">
      The file has {plural(written, "message")}.{!isComplete && " Older messages are not in it. Choose an earlier period to export them."}
    </p>
    <div class="actions end">
      <button type="button" class="primary" onClick={onClose}>
        Close
      </button>
    </div>
  </Dialog>
);
