/** The dialog that changes a carrier. A secret whose field stays empty is kept. */
import type { Link } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { useApi } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { useToast } from "../ui/toast.tsx";
import { draftOf, toEditLink } from "./carrier-draft.ts";
import { carrierOf, type Carrier } from "./carrier-fields.ts";
import { CarrierForm } from "./carrier-form.tsx";

type ChangeProps = { link: Link; onChanged: (link: Link) => void; onClose: () => void };

// A carrier file that a later version adds has its settings, but no fields in this console.
const UNKNOWN: Carrier = { id: "", title: "", about: "", fields: [] };

export function ChangeCarrier({ link, onChanged, onClose }: ChangeProps): JSX.Element {
  const api = useApi();
  const say = useToast();
  const carrier = carrierOf(link) ?? UNKNOWN;
  const [draft, setDraft] = useState(() => draftOf(carrier, link));
  const action = useAction(async () => {
    onChanged(await api.links.edit(link.id, toEditLink(carrier, draft, link)));
    say("The carrier is changed. It connects again.");
    onClose();
  });
  return (
    <FormDialog title="Change the carrier" submit="Save" action={action} onClose={onClose}>
      <CarrierForm
        carrier={carrier}
        draft={draft}
        onChange={(change) => setDraft((before) => ({ ...before, ...change }))}
        error={action.error}
        kept={link.secrets}
      />
    </FormDialog>
  );
}
