/** The form of a new template. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { navigate } from "../lib/router.tsx";
import { useApi, useSession } from "../session/use-session.ts";
import { Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { useToast } from "../ui/toast.tsx";
import { DraftPreview } from "./draft-preview.tsx";
import { EMPTY_DRAFT, isOnWhatsapp, toNew, type Draft } from "./template-draft.ts";
import { TemplateFields } from "./template-fields.tsx";

export function NewTemplatePage(): JSX.Element {
  const api = useApi();
  const say = useToast();
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const action = useAction(async (isSubmitted: boolean) => {
    const { id, name, status } = await api.templates.create(toNew(draft, isSubmitted));
    say(`${name} is ${status === "draft" ? "saved as a draft" : status}`);
    navigate(`templates/${id}`);
  });
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    void action.run(false);
  };
  return (
    <Page title="New template" lead="A text with variables that is checked once and sent many times.">
      <div class="columns wide-first">
        <form class="card stack" onSubmit={onSubmit} noValidate aria-label="New template">
          <TemplateFields isNew draft={draft} onDraft={setDraft} error={action.error} />
          <Problem error={action.error} />
          <p class="hint">
            <SubmitHint draft={draft} />
          </p>
          <div class="actions">
            <button type="button" class="primary" onClick={() => void action.run(true)} disabled={action.isRunning}>
              Submit
            </button>
            <button type="submit" disabled={action.isRunning}>
              Save as draft
            </button>
          </div>
        </form>
        <DraftPreview draft={draft} />
      </div>
    </Page>
  );
}

/** Describes the review that follows the submission. */
function SubmitHint({ draft }: { draft: Draft }): JSX.Element {
  const { environment } = useSession().identity;
  if (!isOnWhatsapp(draft)) return <>A template that is only for SMS is approved immediately.</>;
  if (environment === "test")
    return (
      <>
        In test, the simulator reviews the template immediately, by its name: <code>simulate_rejected…</code>, <code>simulate_paused…</code>{" "}
        and <code>simulate_pending…</code> get that status; all others are approved.
      </>
    );
  return <>WhatsApp reviews the template when it is submitted. Until the approval, it cannot be sent.</>;
}
