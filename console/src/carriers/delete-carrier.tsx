/** The dialog that deletes a carrier with its senders, after a confirmation. */
import type { Link } from "godwit-sdk";
import type { JSX } from "preact";
import { useAction } from "../lib/action.ts";
import { navigate } from "../lib/router.tsx";
import { useApi } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { useToast } from "../ui/toast.tsx";

export function DeleteCarrier({ link, onClose }: { link: Link; onClose: () => void }): JSX.Element {
  const api = useApi();
  const say = useToast();
  const action = useAction(async () => {
    await api.links.delete(link.id);
    say("The carrier is deleted");
    navigate("carriers");
  });
  return (
    <FormDialog title="Delete the carrier?" submit="Delete" isDangerous action={action} onClose={onClose}>
      <p>
        The connection of <strong>{link.name}</strong> is closed, and the carrier is deleted with its secrets and its senders. Messages that
        wait for it take another carrier, or expire. Routes that name it must be changed or deleted first. This cannot be undone; Pause
        stops sending and keeps everything.
      </p>
    </FormDialog>
  );
}
