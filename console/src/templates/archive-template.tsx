/** The dialog that archives a template. It asks for confirmation, because messages can no longer use the template. */
import type { Template } from "godwit-sdk";
import type { JSX } from "preact";
import { useAction } from "../lib/action.ts";
import { useApi } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { useToast } from "../ui/toast.tsx";

type ArchiveProps = { template: Template; onClose: () => void; onDone: (archived: Template) => void };

export function ArchiveTemplate({ template, onClose, onDone }: ArchiveProps): JSX.Element {
  const api = useApi();
  const say = useToast();
  const action = useAction(async () => {
    const archived = await api.templates.archive(template.id);
    say(`${template.name} is archived`);
    onDone(archived);
  });
  return (
    <FormDialog title={`Archive ${template.name}?`} submit="Archive" isDangerous action={action} onClose={onClose}>
      <p>
        It can no longer be sent or changed, and this cannot be undone. Messages that are already accepted are still sent. Its name is free
        for a new template.
      </p>
    </FormDialog>
  );
}
