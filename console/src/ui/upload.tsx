/** Uploads of chosen or dropped files, one after the other, with their progress. */
import { newIdempotencyKey, type Media } from "godwit-sdk";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { formatBytes } from "../lib/format.ts";
import { isRetryable } from "../lib/resource.ts";
import { useSession } from "../session/use-session.ts";
import { Field } from "./field.tsx";
import { Problem } from "./problem.tsx";

type UploadProps = {
  label: string;
  hint?: string;
  isMultiple?: boolean;
  error?: string | undefined;
  onUploaded: (media: Media) => void;
};

type Progress = { name: string; bytes: number; share: number };

export function Upload({ label, hint, isMultiple = false, error, onUploaded }: UploadProps): JSX.Element {
  const session = useSession();
  const [progress, setProgress] = useState<Progress | undefined>(undefined);
  // The name of the last file, in case it fails.
  const [lastName, setLastName] = useState("");
  const leaving = useRef(new AbortController());
  // The files that are left, and their idempotency keys: a repeated upload stores nothing twice.
  const waiting = useRef<readonly { file: File; idempotencyKey: string }[]>([]);
  useEffect(() => () => leaving.current.abort(), []);
  const action = useAction(async () => {
    leaving.current = new AbortController();
    const { signal } = leaving.current;
    try {
      for (let [next] = waiting.current; next !== undefined; [next] = waiting.current) {
        const { file, idempotencyKey } = next;
        const about = { name: file.name, bytes: file.size };
        setProgress({ ...about, share: 0 });
        setLastName(file.name);
        const onProgress = (share: number): void => setProgress({ ...about, share });
        onUploaded(await session.upload(file, { idempotencyKey, onProgress, signal }));
        waiting.current = waiting.current.slice(1);
      }
    } catch (caught) {
      if (signal.aborted) waiting.current = [];
      // A refused file would be refused again. The others can still be uploaded.
      else if (!isRetryable(caught)) waiting.current = waiting.current.slice(1);
      if (!signal.aborted) throw caught;
    } finally {
      setProgress(undefined);
    }
  });
  const start = (files: FileList | null): void => {
    const chosen = [...(files ?? [])].slice(0, isMultiple ? undefined : 1);
    if (chosen.length === 0 || action.isRunning) return;
    waiting.current = chosen.map((file) => ({ file, idempotencyKey: newIdempotencyKey() }));
    void action.run();
  };
  return (
    <div class="upload">
      {/* A file can also be dropped on the field. */}
      <Field label={label} hint={hint ?? "Choose a file, or drop one here."} error={error}>
        {(control) => (
          <input
            {...control}
            type="file"
            multiple={isMultiple}
            disabled={action.isRunning}
            onChange={({ currentTarget }) => {
              start(currentTarget.files);
              // The same file can be chosen again.
              currentTarget.value = "";
            }}
          />
        )}
      </Field>
      {progress !== undefined && (
        <div class="actions">
          <progress value={progress.share} max={1} aria-label={`Upload of ${progress.name}`} />
          <span role="status">
            {progress.name} · {formatBytes(progress.bytes)}
          </span>
          <button type="button" class="small" onClick={() => leaving.current.abort()}>
            Cancel
          </button>
        </div>
      )}
      <Problem error={action.error} onRetry={waiting.current.length === 0 ? undefined : () => void action.run()}>
        <p>{lastName}</p>
      </Problem>
    </div>
  );
}
