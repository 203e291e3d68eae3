/** The dialog that rotates a key: a new key replaces it, and the old one stays valid for a while. */
import type { Key, KeyWithSecret } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { SelectField } from "../ui/field.tsx";
import { faultAt } from "../ui/problem.tsx";
import { SecretDialog } from "../ui/secret-dialog.tsx";
import { KeyAgain, KeyAgainReason, useKeyAgain } from "./key-again.tsx";
import { keyName } from "./key-state.ts";

const OVERLAPS = [
  ["0", "0 seconds: it ends now"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
] as const;

type RotateProps = { of: Key; isOwn: boolean; onClose: () => void; onDone: () => void };

export function RotateKey({ of: key, isOwn, onClose, onDone }: RotateProps): JSX.Element {
  const keyAgain = useKeyAgain();
  const [overlap, setOverlap] = useState("86400");
  const [made, setMade] = useState<KeyWithSecret | undefined>(undefined);
  const action = useAction(async () => setMade(await keyAgain.use((api) => api.keys.rotate(key.id, { overlap_seconds: Number(overlap) }))));
  const overlapText = OVERLAPS.find(([seconds]) => seconds === overlap)?.[1];
  return (
    <SecretDialog
      title={made === undefined ? `Rotate ${keyName(key)}` : "The new key"}
      submit="Rotate"
      action={action}
      onClose={onClose}
      what="key"
      secret={made?.key}
      note={
        <p>
          {overlap === "0"
            ? "The old key is no longer valid."
            : `The old key stays valid for ${overlapText ?? "a while"}, or until it expires.`}
          {isOwn && " You are still signed in with the old one: sign in with the new one before it ends."}
        </p>
      }
      onDone={onDone}
    >
      <p>The new key has the same name, scopes, allowed addresses and expiry. It is shown only once.</p>
      <KeyAgainReason />
      <SelectField
        label="The old key stays valid for"
        value={overlap}
        onValue={setOverlap}
        // Without an overlap this session would end while the new key is being copied.
        options={isOwn ? OVERLAPS.slice(1) : OVERLAPS}
        hint={
          isOwn
            ? "You are signed in with this key. If it ended now, the new key could not be shown."
            : "Choose a time in which you can replace the key everywhere."
        }
        error={faultAt(action.error, "/overlap_seconds")}
      />
      <KeyAgain of={keyAgain} error={action.error} />
    </SecretDialog>
  );
}
