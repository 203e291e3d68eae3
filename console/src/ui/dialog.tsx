/** A question that has to be answered before anything else: the browser's own dialog, which keeps the focus and knows Escape. */
import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Action } from "../lib/action.ts";
import { Problem } from "./problem.tsx";

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  // Before it is painted: who presses Escape at once means this dialog.
  useLayoutEffect(() => {
    const { current } = dialog;
    if (current?.open === false) current.showModal();
    return () => current?.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={headingId} onClose={onClose}>
      <h2 id={headingId}>{title}</h2>
      {children}
    </dialog>
  );
}

type FormDialogProps = {
  title: string;
  submit: string;
  isDangerous?: boolean;
  action: Action<[]>;
  onClose: () => void;
  children: ComponentChildren;
};

/** A dialog that does something when it is confirmed, and stays when that is refused. */
export function FormDialog({ title, submit, isDangerous = false, action, onClose, children }: FormDialogProps): JSX.Element {
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    void action.run();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={onSubmit} noValidate>
        {children}
        <Problem error={action.error} />
        <div class="actions end">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? "danger" : "primary"} disabled={action.isRunning}>
            {action.isRunning ? "Working…" : submit}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
