/** The form of a new template. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { navigate } from "../lib/router.tsx";
import { useApi, useSession } from "../session/use-session.ts";
import { Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { useToast } from "../ui/toast.tsx";
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
    <Page title="New template" lead="A text with variables, checked once and sent many times.">
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
        <section class="card" aria-label="Preview">
          <h2>Preview</h2>
          <p class="quiet">The service fills in what is saved. Save the template, as a draft if you like, to see it here.</p>
        </section>
      </div>
    </Page>
  );
}

/** Describes the review that follows the submission. */
function SubmitHint({ draft }: { draft: Draft }): JSX.Element {
  const { environment } = useSession().identity;
  if (!isOnWhatsapp(draft)) return <>A template for SMS alone is approved as soon as it is submitted.</>;
  if (environment === "test")
    return (
      <>
        In test the simulator reviews it at once, by its name: <code>simulate_rejected…</code>, <code>simulate_paused…</code> and{" "}
        <code>simulate_pending…</code> become that, all others are approved.
      </>
    );
  return <>WhatsApp reviews it when it is submitted. Until it is approved nothing can be sent from it.</>;
}
