/** The page of bulk sends: a file is chosen, mapped, checked and sent. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { readHeadings } from "../../../src/bulk/read-rows.ts";
import { countRefused } from "../../../src/bulk/samples.ts";
import { CsvFault } from "../../../src/lib/csv.ts";
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
import { forgetFinished, keepWhenFinished, readFinished } from "./finished-run.ts";
import { FinishedCard, RunCard } from "./run-card.tsx";

export function BulkPage(): JSX.Element {
  const { identity } = useSession();
  const api = useApi();
  const [run, setRun] = useState(() => currentRun(api));
  const [finished, setFinished] = useState(() => readFinished(identity.keyId));
  const change = (next: BulkRun | undefined): void => {
    if (next !== undefined) keepWhenFinished(next, identity.keyId);
    forgetFinished();
    setFinished(undefined);
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
      ) : run !== undefined ? (
        <RunCard run={run} onClose={() => change(undefined)} />
      ) : finished !== undefined ? (
        <FinishedCard run={finished} onClose={() => change(undefined)} />
      ) : (
        <NewSend onRun={change} />
      )}
    </Page>
  );
}

const sentence = (fault: string): string => `${fault.charAt(0).toUpperCase()}${fault.slice(1)}.`;

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
      setFileFault(sentence(error instanceof Error ? error.message : String(error)));
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
          onFileFault={(text) => {
            setChosen(undefined);
            setFileFault(text);
          }}
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
  onFileFault: (fault: string) => void;
};

function Checking({ file, settings, sendId, onRun, onFileFault }: CheckingProps): JSX.Element {
  const api = useApi();
  const [progress, setProgress] = useState<{ rows: number; share: number }>({ rows: 0, share: 0 });
  const [check, setCheck] = useState<Check | undefined>(undefined);
  const [isAsked, setAsked] = useState(false);
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);
  const action = useAction(async () => {
    const { signal } = leaving.current;
    const onProgress = (rows: number, share: number): void => setProgress({ rows, share });
    try {
      setCheck(await checkFile({ api, file, settings, sendId, signal, onProgress }));
    } catch (error) {
      if (!(error instanceof CsvFault)) throw error;
      onFileFault(sentence(error.message));
    }
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
            <button type="button" class="primary" disabled={acceptable(check) === 0} onClick={() => setAsked(true)}>
              Send {plural(acceptable(check), "message")}
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

/** The rows that are not known to be refused. */
const acceptable = ({ preview, samples }: Check): number => preview.valid - countRefused(samples);

function Confirmation({ check, onClose, onSend }: { check: Check; onClose: () => void; onSend: () => void }): JSX.Element {
  const { preview, samples } = check;
  const [count, refused] = [plural(acceptable(check), "message"), countRefused(samples)];
  const { environment } = useSession().identity;
  const action = useAction(async () => onSend());
  return (
    <FormDialog title={`Send ${count}?`} submit="Send" action={action} onClose={onClose}>
      <p>
        {count} in <strong>{environment}</strong>
        {preview.segments > 0 && `, ${formatCount(preview.segments)} segments`}.{" "}
        {preview.invalid > 0 && `${plural(preview.invalid, "invalid row is", "invalid rows are")} left out. `}
        {refused > 0 && `${plural(refused, "row")} will be refused.`}
      </p>
    </FormDialog>
  );
}
