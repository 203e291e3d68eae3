/** The dialog that creates an API key and shows it once. */
import type { KeyWithSecret, NewKey } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { fromLocalInput } from "../lib/format.ts";
import { useApi, useSession } from "../session/use-session.ts";
import { CheckList, TextField } from "../ui/field.tsx";
import { faultAt } from "../ui/problem.tsx";
import { SecretDialog } from "../ui/secret-dialog.tsx";

export function CreateKey({ onClose, onDone }: { onClose: () => void; onDone: () => void }): JSX.Element {
  const api = useApi();
  const { identity } = useSession();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<string[]>([]);
  const [expiresAt, setExpiresAt] = useState("");
  const [made, setMade] = useState<KeyWithSecret | undefined>(undefined);
  const action = useAction(async () => {
    const body = {
      name: name.trim() || null,
      // The scopes come from the service itself, so they are valid.
      scopes: scopes as NewKey["scopes"],
      expires_at: expiresAt === "" ? null : fromLocalInput(expiresAt),
    };
    setMade(await api.keys.create(body));
  });
  return (
    <SecretDialog
      title={made === undefined ? "Create a key" : "The new key"}
      submit="Create"
      action={action}
      onClose={onClose}
      what="key"
      secret={made?.key}
      onDone={onDone}
    >
      <TextField
        label="Name"
        isOptional
        hint="For people: what uses it."
        value={name}
        onValue={setName}
        error={faultAt(action.error, "/name")}
      />
      <CheckList legend="Scopes" options={identity.scopes} chosen={scopes} onChosen={setScopes} error={faultAt(action.error, "/scopes")} />
      <p class="hint">Nobody gives more than they have: these are the scopes of your own key.</p>
      <TextField
        label="Expires"
        isOptional
        type="datetime-local"
        hint="Without it, together with your own key."
        value={expiresAt}
        onValue={setExpiresAt}
        error={faultAt(action.error, "/expires_at")}
      />
    </SecretDialog>
  );
}
