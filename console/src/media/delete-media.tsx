/** The dialog that deletes a file. */
import type { Media } from "godwit-sdk";
import type { JSX } from "preact";
import { useAction } from "../lib/action.ts";
import { useSession } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { useToast } from "../ui/toast.tsx";

type DeleteProps = { file: Media; onClose: () => void; onDone: () => void };

export function DeleteMedia({ file, onClose, onDone }: DeleteProps): JSX.Element {
  const { api } = useSession();
  const say = useToast();
  const action = useAction(async () => {
    await api.media.delete(file.id);
    say("The file is deleted");
    onDone();
  });
  return (
    <FormDialog title="Delete this file?" submit="Delete" isDangerous action={action} onClose={onClose}>
      <p>
        {file.file_name ?? <code>{file.id}</code>} is deleted permanently. Messages that were sent with it stay, and messages that are still
        to be sent with it fail.
      </p>
    </FormDialog>
  );
}
