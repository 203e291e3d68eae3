/** The page that adds a carrier: first the choice, then the fields of the chosen one. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { useShownFault } from "../lib/form.ts";
import { Link, navigate, useAddress } from "../lib/router.tsx";
import { useApi, useSession } from "../session/use-session.ts";
import { Page } from "../ui/page.tsx";
import { Problem } from "../ui/problem.tsx";
import { useToast } from "../ui/toast.tsx";
import { newDraft, toNewLink } from "./carrier-draft.ts";
import { CARRIERS, type Carrier } from "./carrier-fields.ts";
import { CarrierForm } from "./carrier-form.tsx";
import { LiveKey } from "../ui/live-key.tsx";

export function AddCarrierPage(): JSX.Element {
  const { environment } = useSession().identity;
  const chosen = useAddress().query.get("carrier");
  const carrier = CARRIERS.find(({ id }) => id === chosen);
  if (environment === "test")
    return (
      <Page title="Add a carrier" lead="Carriers belong to live, and you are signed in to test.">
        <section class="card" aria-label="Live key">
          <LiveKey />
        </section>
      </Page>
    );
  return carrier === undefined ? <Choice /> : <NewCarrier key={carrier.id} carrier={carrier} />;
}

const Choice = (): JSX.Element => (
  <Page title="Add a carrier" lead="Choose the carrier that you have an account with.">
    <ul class="choices" aria-label="Carriers">
      {CARRIERS.map(({ id, title, about }) => (
        <li key={id} class="card">
          <h2>
            <Link to="carriers/new" query={new URLSearchParams({ carrier: id })}>
              {title}
            </Link>
          </h2>
          <p class="quiet">{about}</p>
        </li>
      ))}
    </ul>
  </Page>
);

const NONE: readonly string[] = [];

function NewCarrier({ carrier }: { carrier: Carrier }): JSX.Element {
  const api = useApi();
  const say = useToast();
  const [draft, setDraft] = useState(() => newDraft(carrier, location.origin));
  const form = useRef<HTMLFormElement>(null);
  const action = useAction(async () => {
    const { id, name } = await api.links.create(toNewLink(carrier, draft));
    say(`${name} is added. Test the connection next.`);
    navigate(`carriers/${id}`);
  });
  useShownFault(form, action.error);
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    void action.run();
  };
  return (
    <Page title={`Add a carrier: ${carrier.title}`} lead={<Link to="carriers/new">Choose another carrier</Link>}>
      <form class="card stack" ref={form} onSubmit={onSubmit} noValidate aria-label="New carrier">
        <CarrierForm
          carrier={carrier}
          draft={draft}
          onChange={(change) => setDraft((before) => ({ ...before, ...change }))}
          error={action.error}
          kept={NONE}
        />
        <Problem error={action.error} />
        <div class="actions">
          <button type="submit" class="primary" disabled={action.isRunning}>
            {action.isRunning ? "Adding…" : "Add the carrier"}
          </button>
        </div>
        <p class="hint">Secrets are stored encrypted, and are never shown again. No message is sent.</p>
      </form>
    </Page>
  );
}
