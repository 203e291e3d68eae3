/** The dialog that creates an API key and shows it once. */
import type { KeyWithSecret, NewKey } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { fromLocalInput } from "../lib/format.ts";
import { useSession } from "../session/use-session.ts";
import { TextField } from "../ui/field.tsx";
import { faultAt } from "../ui/problem.tsx";
import { SecretDialog } from "../ui/secret-dialog.tsx";
import { AllowedAddresses, toBlocks } from "./allowed-addresses.tsx";
import { KeyAgain, KeyAgainReason, useKeyAgain } from "./key-again.tsx";
import { ScopeFields } from "./scope-fields.tsx";

export function CreateKey({ onClose, onDone }: { onClose: () => void; onDone: () => void }): JSX.Element {
  const { identity } = useSession();
  const keyAgain = useKeyAgain();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<string[]>([]);
  const [expiresAt, setExpiresAt] = useState("");
  const [addresses, setAddresses] = useState("");
  const [sentBlocks, setSentBlocks] = useState<readonly string[]>([]);
  const [made, setMade] = useState<KeyWithSecret | undefined>(undefined);
  const [hasNoScope, setHasNoScope] = useState(false);
  const action = useAction(async () => {
    // Otherwise the fault would be known only once the typed key is right.
    setHasNoScope(scopes.length === 0);
    if (scopes.length === 0) return;
    const blocks = toBlocks(addresses);
    setSentBlocks(blocks);
    const body = {
      name: name.trim() || null,
      // The scopes come from the service itself, so they are valid.
      scopes: scopes as NewKey["scopes"],
      expires_at: expiresAt === "" ? null : fromLocalInput(expiresAt),
      allowed_ips: blocks.length === 0 ? null : blocks,
    };
    setMade(await keyAgain.use((api) => api.keys.create(body)));
  });
  const scopeFault = hasNoScope && scopes.length === 0 ? "Choose at least one scope." : faultAt(action.error, "/scopes");
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
      <KeyAgainReason />
      <TextField
        label="Name"
        isOptional
        hint="Shown in lists, for example the program that uses the key."
        value={name}
        onValue={setName}
        error={faultAt(action.error, "/name")}
      />
      <ScopeFields granted={identity.scopes} chosen={scopes} onChosen={setScopes} error={scopeFault} />
      <TextField
        label="Expires"
        isOptional
        type="datetime-local"
        hint="Defaults to the expiry of the key that creates it."
        value={expiresAt}
        onValue={setExpiresAt}
        error={faultAt(action.error, "/expires_at")}
      />
      <AllowedAddresses value={addresses} onValue={setAddresses} error={action.error} sent={sentBlocks} />
      <KeyAgain of={keyAgain} error={action.error} />
    </SecretDialog>
  );
}
