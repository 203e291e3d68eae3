/** The dialog that lifts a suppression. It asks for confirmation, because the recipient may have opted out. */
import type { Suppression } from "godwit-sdk";
import type { JSX } from "preact";
import { useAction } from "../lib/action.ts";
import { useApi } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { useToast } from "../ui/toast.tsx";

type LiftProps = { suppression: Suppression; onClose: () => void; onDone: () => void };

export function LiftSuppression({ suppression, onClose, onDone }: LiftProps): JSX.Element {
  const api = useApi();
  const say = useToast();
  const action = useAction(async () => {
    await api.suppressions.lift(suppression.id);
    say(`${suppression.recipient} can receive messages again`);
    onDone();
  });
  return (
    <FormDialog title={`Lift the suppression of ${suppression.recipient}?`} submit="Lift" action={action} onClose={onClose}>
      <p>
        {suppression.source === "keyword" || suppression.source === "carrier"
          ? "This recipient opted out. In many countries the law permits messages only after the recipient has opted in again."
          : "Messages to this recipient will be accepted again."}
      </p>
    </FormDialog>
  );
}
