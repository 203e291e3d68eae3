/** The state of a link with its reason, its last error, and the button that pauses it. */
import type { Link } from "godwit-sdk";
import type { JSX } from "preact";
import { useAction } from "../lib/action.ts";
import { formatCount } from "../lib/format.ts";
import { reasonOf } from "../lib/link-reason.ts";
import { useApi } from "../session/use-session.ts";
import { Ago } from "../ui/moment.tsx";
import { Problem } from "../ui/problem.tsx";
import { Status } from "../ui/status.tsx";
import { useToast } from "../ui/toast.tsx";
import { carrierOf } from "./carrier-fields.ts";

/** Whether the operator defined the link, so that accounts cannot change it. */
export const isOfOperator = ({ source }: Link): boolean => source !== "api";

export const carrierTitle = (link: Link): string => carrierOf(link)?.title ?? link.carrier ?? link.provider;

export function CarrierState({ of: link }: { of: Link }): JSX.Element {
  const reason = reasonOf(link);
  return (
    <>
      <Status of={link.state} /> {reason !== null && <span class="quiet">{reason}</span>}
    </>
  );
}

export const rateOf = ({ rate }: Link): string => (rate === null ? "no limit" : `${formatCount(rate)} a second`);
export const windowOf = ({ window }: Link): string => (window === null ? "no limit" : formatCount(window));

export function LastError({ of: { last_error: error, last_error_at: at } }: { of: Link }): JSX.Element {
  if (error === null) return <span class="quiet">–</span>;
  return (
    <>
      {error}{" "}
      {at !== null && (
        <span class="quiet">
          <Ago iso={at} />
        </span>
      )}
    </>
  );
}

/** Pauses or resumes the link. A paused link sends nothing, and receives as before. */
export function PauseButton({ of: { id, name, paused }, onChanged }: { of: Link; onChanged: (link: Link) => void }): JSX.Element {
  const api = useApi();
  const say = useToast();
  const action = useAction(async () => {
    onChanged(await api.links.edit(id, { paused: !paused }));
    say(paused ? `${name} is resumed` : `${name} is paused`);
  });
  return (
    <>
      <button type="button" disabled={action.isRunning} onClick={() => void action.run()}>
        {paused ? "Resume" : "Pause"} <span class="unseen">{name}</span>
      </button>
      <Problem error={action.error} />
    </>
  );
}

/** The share of messages that were delivered in the last 15 minutes; empty without a result. */
export const deliveryRateOf = ({ quality }: Link): string =>
  typeof quality?.delivery_rate === "number" ? `${Math.round(quality.delivery_rate * 1_000) / 10} %` : "";

/** The mean time from the acceptance by the carrier to its delivery receipt. */
export const receiptTimeOf = ({ quality }: Link): string =>
  typeof quality?.seconds_to_receipt === "number" ? `${Math.round(quality.seconds_to_receipt * 10) / 10} s` : "";
