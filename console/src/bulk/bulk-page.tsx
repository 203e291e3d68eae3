/** The page of bulk sends: a file is chosen, mapped, checked and sent. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { readHeadings } from "../../../src/bulk/read-rows.ts";
import { useAction } from "../lib/action.ts";
import { formatCount, formatPercent, plural } from "../lib/format.ts";
import { useApi, useSession } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { draftFault, EMPTY_DRAFT, mappingOf, toSettings, type BulkDraft } from "./bulk-draft.ts";
import { ColumnFields, ContentFields, FileField, useTemplates } from "./bulk-form.tsx";
import { BulkRun } from "./bulk-run.ts";
import { CheckCard } from "./check-card.tsx";
import { checkFile, type Check } from "./check-file.ts";
import { currentRun, keepRun } from "./current-run.ts";
import { fileBytes } from "./file-bytes.ts";
import { RunCard } from "./run-card.tsx";

export function BulkPage(): JSX.Element {
  const { identity } = useSession();
  const api = useApi();
  const [run, setRun] = useState(() => currentRun(api));
  const change = (next: BulkRun | undefined): void => {
    keepRun(api, next);
    setRun(next);
  };
  return (
    <Page
      title="Bulk send"
      lead={
        <>
          {identity.environment === "live"
            ? "Live environment: messages are sent to real recipients. "
            : "Test environment: the simulator responds, and no message is sent to a phone. "}
          <a href="/docs/batches#send-a-csv-file">How a file is sent</a>
        </>
      }
    >
      {/* Browsers offer the hash of the idempotency keys only in a secure context. */}
      {!isSecureContext ? (
        <div class="notice bad">
          <p>Bulk send needs HTTPS, or the address localhost. Elsewhere use the command line: godwit send --csv.</p>
        </div>
      ) : run === undefined ? (
        <NewSend onRun={change} />
      ) : (
        <RunCard run={run} onClose={() => change(undefined)} />
      )}
    </Page>
  );
}

type ChosenFile = { file: File; headings: readonly string[] };

function NewSend({ onRun }: { onRun: (run: BulkRun) => void }): JSX.Element {
  const [given, setDraft] = useState<BulkDraft>(EMPTY_DRAFT);
  const [chosen, setChosen] = useState<ChosenFile | undefined>(undefined);
  const [fileFault, setFileFault] = useState<string | undefined>(undefined);
  const templates = useTemplates();
  // While the templates load, the field waits for them. Every environment has a template for codes, which are not sent in bulk.
  const mayHaveTemplate = templates.mayRead && (templates.data?.some(({ category }) => category !== "authentication") ?? true);
  const draft: BulkDraft = { ...given, kind: given.kind ?? (mayHaveTemplate ? "template" : "text") };
  const template = templates.data?.find(({ name }) => name === draft.template);
  const mapping = chosen === undefined ? undefined : mappingOf(draft, chosen.headings, template);
  const fault = draftFault(draft);
  const onFile = async (file: File | undefined): Promise<void> => {
    setChosen(undefined);
    setFileFault(undefined);
    if (file === undefined) return;
    try {
      const headings = await readHeadings(fileBytes(file));
      if (headings === undefined) setFileFault("The file is empty.");
      else setChosen({ file, headings });
    } catch (error) {
      setFileFault(error instanceof Error ? error.message : String(error));
    }
  };
  const isReady = chosen !== undefined && mapping !== undefined && mapping.faults.length === 0 && fault === undefined;
  return (
    <div class="columns">
      <section class="card stack" aria-label="New bulk send">
        <FileField error={fileFault} onFile={(file) => void onFile(file)} />
        <ContentFields draft={draft} templates={templates} onChange={(change) => setDraft((before) => ({ ...before, ...change }))} />
        {chosen !== undefined && mapping !== undefined && (
          <ColumnFields
            headings={chosen.headings}
            targets={mapping.targets}
            variables={draft.kind === "template" ? (template?.variables.map(({ name }) => name) ?? []) : []}
            hasText={draft.kind === "column"}
            onChoose={(heading, target) => setDraft((before) => ({ ...before, chosen: { ...before.chosen, [heading]: target } }))}
          />
        )}
        {chosen !== undefined && (fault !== undefined || (mapping?.faults.length ?? 0) > 0) && (
          <ul class="notice" aria-label="Missing">
            {[...(fault === undefined ? [] : [fault]), ...(mapping?.faults ?? [])].map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        )}
      </section>
      {isReady && (
        <Checking
          // Another file or another setting begins another check.
          key={JSON.stringify([chosen.file.name, chosen.file.size, chosen.file.lastModified, draft, mapping.targets])}
          file={chosen.file}
          settings={toSettings(draft, mapping.targets, template)}
          sendId={draft.sendId}
          onRun={onRun}
        />
      )}
    </div>
  );
}

type CheckingProps = {
  file: File;
  settings: ReturnType<typeof toSettings>;
  sendId: string;
  onRun: (run: BulkRun) => void;
};

function Checking({ file, settings, sendId, onRun }: CheckingProps): JSX.Element {
  const api = useApi();
  const [progress, setProgress] = useState<{ rows: number; share: number }>({ rows: 0, share: 0 });
  const [check, setCheck] = useState<Check | undefined>(undefined);
  const [isAsked, setAsked] = useState(false);
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);
  const action = useAction(async () => {
    const { signal } = leaving.current;
    const onProgress = (rows: number, share: number): void => setProgress({ rows, share });
    const found = await checkFile({ api, file, settings, sendId, signal, onProgress });
    setCheck(found);
  });
  return (
    <div class="stack">
      {check === undefined ? (
        <section class="card stack" aria-label="Check">
          <p>Checks every row, and shows what would be sent. Nothing is sent yet.</p>
          {action.isRunning && (
            <>
              <progress class="bulk-progress" aria-label="Check of the file" value={progress.share} />
              <p role="status">
                {plural(progress.rows, "row")} checked ({formatPercent(progress.share)})
              </p>
            </>
          )}
          <Problem error={action.error} />
          <div class="actions">
            <button type="button" class="primary" disabled={action.isRunning} onClick={() => void action.run()}>
              {action.isRunning ? "Checking…" : "Check the file"}
            </button>
          </div>
        </section>
      ) : (
        <CheckCard check={check}>
          <div class="actions">
            <button type="button" class="primary" disabled={check.preview.valid === 0} onClick={() => setAsked(true)}>
              Send {plural(check.preview.valid, "message")}
            </button>
          </div>
        </CheckCard>
      )}
      {isAsked && check !== undefined && (
        <Confirmation check={check} onClose={() => setAsked(false)} onSend={() => start(new BulkRun(api, file, check), onRun)} />
      )}
    </div>
  );
}

function start(run: BulkRun, onRun: (run: BulkRun) => void): void {
  onRun(run);
  void run.send();
}

function Confirmation({ check: { preview }, onClose, onSend }: { check: Check; onClose: () => void; onSend: () => void }): JSX.Element {
  const { environment } = useSession().identity;
  const action = useAction(async () => onSend());
  return (
    <FormDialog title={`Send ${plural(preview.valid, "message")}?`} submit="Send" action={action} onClose={onClose}>
      <p>
        {plural(preview.valid, "message")} in <strong>{environment}</strong>
        {preview.segments > 0 && `, ${formatCount(preview.segments)} segments`}.{" "}
        {preview.invalid > 0 && `${plural(preview.invalid, "invalid row is", "invalid rows are")} left out.`}
      </p>
    </FormDialog>
  );
}
