/** The dialog that revokes a key. It asks for confirmation, because the key stops working within a second. */
import type { Key } from "godwit-sdk";
import type { JSX } from "preact";
import { useAction } from "../lib/action.ts";
import { useSession } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { useToast } from "../ui/toast.tsx";
import { keyName } from "./key-state.ts";

type RevokeProps = { of: Key; isOwn: boolean; onClose: () => void; onDone: () => void };

export function RevokeKey({ of: key, isOwn, onClose, onDone }: RevokeProps): JSX.Element {
  const session = useSession();
  const say = useToast();
  const action = useAction(async () => {
    await session.api.keys.revoke(key.id);
    if (isOwn) return session.end("ended");
    say(`${keyName(key)} is revoked`);
    onDone();
  });
  return (
    <FormDialog title={`Revoke ${keyName(key)}?`} submit="Revoke" isDangerous action={action} onClose={onClose}>
      {isOwn && (
        <p class="notice bad">
          <strong>You are signed in with this key.</strong> Your session ends with it, and you need another key to sign in again.
        </p>
      )}
      <p>The key and every access token that it created stop working within about a second. This cannot be undone.</p>
    </FormDialog>
  );
}
