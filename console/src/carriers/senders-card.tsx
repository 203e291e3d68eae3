/** The senders of a carrier: the numbers and names that messages come from. */
import type { Link, Sender } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { useResource } from "../lib/resource.ts";
import { useApi } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { Loaded } from "../ui/page.tsx";
import { faultAt, Problem } from "../ui/problem.tsx";
import { useToast } from "../ui/toast.tsx";

export function SendersCard({ link, mayChange }: { link: Link; mayChange: boolean }): JSX.Element {
  const api = useApi();
  const [removed, setRemoved] = useState<Sender | undefined>(undefined);
  const senders = useResource(`senders ${link.id}`, async (signal) =>
    (await api.senders.list({ signal })).data.filter(({ link_id: id }) => id === link.id),
  );
  return (
    <section class="card" aria-label="Senders">
      <h2>Senders</h2>
      <Loaded resource={senders} lines={1}>
        {(all) =>
          all.length === 0 ? (
            <p class="quiet">No sender yet. Messages without one use the default sender, or the carrier chooses.</p>
          ) : (
            <ul class="plain-list">
              {all.map((sender) => (
                <li key={sender.id}>
                  <span>
                    <strong>{sender.number}</strong> {sender.countries !== null && <span class="quiet">{sender.countries.join(", ")}</span>}
                    {sender.reason_detail !== null && <span class="quiet">not used: {sender.reason_detail}</span>}
                  </span>
                  {mayChange && sender.source === "api" && (
                    <button type="button" class="small" onClick={() => setRemoved(sender)}>
                      Remove <span class="unseen">{sender.number}</span>
                    </button>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {mayChange && <AddSender link={link} onAdded={senders.reload} />}
      {removed !== undefined && <RemoveSender sender={removed} onClose={() => setRemoved(undefined)} onRemoved={senders.reload} />}
    </section>
  );
}

function AddSender({ link, onAdded }: { link: Link; onAdded: () => void }): JSX.Element {
  const api = useApi();
  const say = useToast();
  const [number, setNumber] = useState("");
  const action = useAction(async () => {
    await api.senders.create({ number: number.trim(), link_id: link.id });
    say(`${number.trim()} is added`);
    setNumber("");
    onAdded();
  });
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    void action.run();
  };
  const fault = faultAt(action.error, "/number");
  return (
    <form onSubmit={onSubmit} noValidate aria-label="New sender">
      <div class="add-row">
        <TextField
          label="Number or name"
          placeholder="+14155550100"
          hint="A number that the carrier has given you, with + and the country code, or a short code or name that it allows."
          value={number}
          onValue={setNumber}
          error={fault}
        />
        <button type="submit" disabled={action.isRunning}>
          Add a sender
        </button>
      </div>
      {fault === undefined && <Problem error={action.error} />}
    </form>
  );
}

type RemoveProps = { sender: Sender; onClose: () => void; onRemoved: () => void };

function RemoveSender({ sender, onClose, onRemoved }: RemoveProps): JSX.Element {
  const api = useApi();
  const action = useAction(async () => {
    await api.senders.delete(sender.id);
    onRemoved();
    onClose();
  });
  return (
    <FormDialog title="Remove the sender?" submit="Remove" isDangerous action={action} onClose={onClose}>
      <p>
        New messages are not sent from <strong>{sender.number}</strong>, and what people write to it no longer reaches you. Messages that
        are already accepted keep it.
      </p>
    </FormDialog>
  );
}
