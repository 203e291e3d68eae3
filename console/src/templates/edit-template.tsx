/** The form of an existing template, with a preview beside it: of the saved version, or of unsaved changes. */
import type { Template } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { useApi } from "../session/use-session.ts";
import { Problem } from "../ui/problem.tsx";
import { useToast } from "../ui/toast.tsx";
import { DraftPreview } from "./draft-preview.tsx";
import { isOnWhatsapp, toChanges, toDraft, type Draft } from "./template-draft.ts";
import { TemplateFields } from "./template-fields.tsx";
import { PreviewCard } from "./template-preview.tsx";

type EditProps = { template: Template; onSaved: (template: Template) => void };

export function EditTemplate({ template, onSaved }: EditProps): JSX.Element {
  const api = useApi();
  const say = useToast();
  // An untouched form follows the changes of the template.
  const [touched, setTouched] = useState<Draft | undefined>(undefined);
  const draft = touched ?? toDraft(template);
  const changes = toChanges(draft, template);
  const isChanged = Object.keys(changes).length > 0;
  const action = useAction(async (isSubmitted: boolean) => {
    const saved = await api.templates.edit(template.id, isSubmitted ? { ...changes, status: "pending" } : changes);
    setTouched(undefined);
    onSaved(saved);
    say(`Saved: ${saved.name} is ${saved.status === "draft" ? "a draft" : saved.status}, version ${saved.version}`);
  });
  const discard = (): void => {
    setTouched(undefined);
    action.clear();
  };
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (template.status === "rejected") void action.run(true);
    else if (isChanged) void action.run(false);
  };
  return (
    <div class="columns wide-first">
      <form class="card stack" onSubmit={onSubmit} noValidate aria-label={`Edit ${template.name}`}>
        <TemplateFields isNew={false} draft={draft} onDraft={setTouched} error={action.error} />
        <Problem error={action.error} />
        <p class="hint">{describeSaving(template, draft)}</p>
        <div class="actions">
          <SaveButtons
            status={template.status}
            isChanged={isChanged}
            isRunning={action.isRunning}
            onSubmitted={() => void action.run(true)}
          />
          {isChanged && (
            <button type="button" onClick={discard} disabled={action.isRunning}>
              Discard changes
            </button>
          )}
        </div>
      </form>
      {isChanged ? <DraftPreview draft={draft} /> : <PreviewCard template={template} />}
    </div>
  );
}

type ButtonsProps = { status: string; isChanged: boolean; isRunning: boolean; onSubmitted: () => void };

/** The buttons of the form. Enter in a field saves and never submits a draft. */
function SaveButtons({ status, isChanged, isRunning, onSubmitted }: ButtonsProps): JSX.Element {
  if (status === "rejected")
    return (
      <button type="submit" class="primary" disabled={isRunning}>
        {isChanged ? "Save and submit again" : "Submit again"}
      </button>
    );
  if (status !== "draft")
    return (
      <button type="submit" class="primary" disabled={isRunning || !isChanged}>
        Save
      </button>
    );
  return (
    <>
      <button type="button" class="primary" onClick={onSubmitted} disabled={isRunning}>
        Submit
      </button>
      <button type="submit" disabled={isRunning || !isChanged}>
        Save as draft
      </button>
    </>
  );
}

/** Describes the effect of saving. */
function describeSaving({ status, version }: Template, draft: Draft): string {
  if (status === "draft") return "A draft cannot be sent. Submit it when it is complete.";
  if (!isOnWhatsapp(draft)) return `A change of the content creates version ${version + 1}, which is approved immediately.`;
  return `A change of the content creates version ${version + 1}, which is reviewed. A change of the language or category is reviewed as well. Until the approval, the template cannot be sent.`;
}
