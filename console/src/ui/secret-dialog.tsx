/** A dialog that creates a secret and then shows it once. From then on its button closes it; a single Escape does not. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Action } from "../lib/action.ts";
import { Secret } from "./copy.tsx";
import { Dialog, DialogForm } from "./dialog.tsx";

type SecretDialogProps = {
  title: string;
  submit: string;
  action: Action<[]>;
  onClose: () => void;
  /** The kind of secret, for the texts: "key" or "secret". */
  what: string;
  secret: string | undefined;
  /** Shown below the secret. */
  note?: ComponentChildren;
  onDone: () => void;
  children: ComponentChildren;
};

export function SecretDialog({ title, what, secret, note, onDone, ...form }: SecretDialogProps): JSX.Element {
  const close = (): void => {
    // The response of a running request contains the secret, and a closed dialog could not show it.
    if (!form.action.isRunning) form.onClose();
  };
  return (
    <Dialog title={title} onClose={secret === undefined ? form.onClose : onDone} isHeld={form.action.isRunning || secret !== undefined}>
      {secret === undefined ? (
        <DialogForm {...form} onClose={close} />
      ) : (
        <ShownSecret what={what} secret={secret} onDone={onDone}>
          {note}
        </ShownSecret>
      )}
    </Dialog>
  );
}

type ShownSecretProps = { what: string; secret: string; onDone: () => void; children: ComponentChildren };

function ShownSecret({ what, secret, onDone, children }: ShownSecretProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  // The button that had the focus no longer exists.
  useEffect(() => box.current?.focus(), []);
  return (
    <div class="stack shown-once" ref={box} tabIndex={-1}>
      <Secret what={what} text={secret} />
      {children}
      <div class="actions end">
        <button type="button" class="primary" onClick={onDone}>
          Done
        </button>
      </div>
    </div>
  );
}
