/** A modal dialog: the browser's own, which keeps the focus and handles Escape. */
import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Action } from "../lib/action.ts";
import { refusesIncomplete, useShownFault } from "../lib/form.ts";
import { Problem } from "./problem.tsx";

type DialogProps = {
  title: string;
  onClose: () => void;
  /** Escape does not close the dialog, because its content would be lost. */
  isHeld?: boolean;
  children: ComponentChildren;
};

export function Dialog({ title, onClose, isHeld = false, children }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isGone = useRef(false);
  const headingId = useId();
  // A layout effect opens the dialog before it is painted, so that an immediate Escape closes this dialog.
  useLayoutEffect(() => {
    const { current } = dialog;
    if (current?.open === false) current.showModal();
    return () => {
      isGone.current = true;
      current?.close();
      // The button that opened the dialog may no longer exist. The focus then goes to the heading.
      setTimeout(() => {
        if (document.activeElement === document.body) document.querySelector<HTMLElement>("#main h1")?.focus({ preventScroll: true });
      });
    };
  }, []);
  const onClosed = (): void => {
    // The browser fires this event late, when another dialog may already be open.
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
  /** Replaces "Cancel" where it would be ambiguous, as in a dialog that cancels a message. */
  dismiss?: string;
  action: Action<[]>;
  onClose: () => void;
  children: ComponentChildren;
};

/** The form of a dialog, with its buttons. */
export function DialogForm({ submit, isDangerous = false, dismiss = "Cancel", action, onClose, children }: DialogFormProps): JSX.Element {
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (!refusesIncomplete(form.current)) void action.run();
  };
  const form = useRef<HTMLFormElement>(null);
  useShownFault(form, action.error);
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

/** A dialog that runs an action when it is confirmed, and stays open when the action fails. */
export const FormDialog = ({ title, ...form }: DialogFormProps & { title: string }): JSX.Element => (
  <Dialog title={title} onClose={form.onClose}>
    <DialogForm {...form} />
  </Dialog>
);
