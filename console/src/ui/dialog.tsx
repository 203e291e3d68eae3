/** A question that has to be answered before anything else: the browser's own dialog, which keeps the focus and knows Escape. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Action } from "../lib/action.ts";
import { refusesIncomplete } from "../lib/form.ts";
import { Problem } from "./problem.tsx";

type DialogProps = {
  title: string;
  onClose: () => void;
  /** Escape does not close it: what it shows would be lost. */
  isHeld?: boolean;
  children: ComponentChildren;
};

export function Dialog({ title, onClose, isHeld = false, children }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isGone = useRef(false);
  const headingId = useId();
  // Before it is painted: who presses Escape at once means this dialog.
  useLayoutEffect(() => {
    const { current } = dialog;
    if (current?.open === false) current.showModal();
    return () => {
      isGone.current = true;
      current?.close();
      // The button that opened it may have gone with what it did.
      setTimeout(() => {
        if (document.activeElement === document.body) document.querySelector<HTMLElement>("#main h1")?.focus({ preventScroll: true });
      });
    };
  }, []);
  const onClosed = (): void => {
    // The browser says so later, when there may be another dialog already.
    if (!isGone.current) onClose();
  };
  const onCancel = (event: Event): void => {
    if (isHeld) event.preventDefault();
  };
  return (
    <dialog ref={dialog} aria-labelledby={headingId} onCancel={onCancel} onClose={onClosed}>
      <h2 id={headingId}>{title}</h2>
      {children}
    </dialog>
  );
}

type DialogFormProps = {
  submit: string;
  isDangerous?: boolean;
  /** Where "Cancel" would be taken for what the dialog is about. */
  dismiss?: string;
  action: Action<[]>;
  onClose: () => void;
  children: ComponentChildren;
};

/** What is asked for in a dialog, and the buttons below it. */
export function DialogForm({ submit, isDangerous = false, dismiss = "Cancel", action, onClose, children }: DialogFormProps): JSX.Element {
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!refusesIncomplete(form.current)) void action.run();
  };
  const form = useRef<HTMLFormElement>(null);
  // What was refused may be out of sight.
  useEffect(() => {
    if (action.error === undefined) return;
    const wrong = form.current?.querySelector<HTMLElement>("[aria-invalid]");
    if (wrong instanceof HTMLElement) wrong.focus();
    else form.current?.querySelector("[role=alert]")?.scrollIntoView({ block: "nearest" });
  }, [action.error]);
  return (
    <form ref={form} onSubmit={onSubmit} noValidate>
      {children}
      <Problem error={action.error} />
      <div class="actions end">
        <button type="button" onClick={onClose}>
          {dismiss}
        </button>
        <button type="submit" class={isDangerous ? "danger" : "primary"} disabled={action.isRunning}>
          {action.isRunning ? "Working…" : submit}
        </button>
      </div>
    </form>
  );
}

/** A dialog that does something when it is confirmed, and stays when that is refused. */
export const FormDialog = ({ title, ...form }: DialogFormProps & { title: string }): JSX.Element => (
  <Dialog title={title} onClose={form.onClose}>
    <DialogForm {...form} />
  </Dialog>
);
