/** One link: its state with the reason, its limits, and the messages of the account on it. */
import type { Link } from "godwit-sdk";
import type { JSX } from "preact";
import { formatCount } from "../lib/format.ts";
import { Facts } from "../ui/facts.tsx";
import { Status } from "../ui/status.tsx";

export function LinkCard({ link }: { link: Link }): JSX.Element {
  const { name, provider, channels, state, reason, sender, rate, window, in_flight: inFlight } = link;
  return (
    <li class="card">
      <div class="card-head">
        <h2>{name}</h2>
        <Status of={state} />
      </div>
      {reason !== null && <p class="reason">{reason}</p>}
      <Facts
        rows={[
          ["Provider", provider],
          ["Channels", channels.join(", ")],
          ["Sender", sender],
          ["Rate", rate === null ? "no limit" : `${formatCount(rate)} a second`],
          ["Window", window === null ? "no limit" : `${formatCount(window)} at one time`],
          ["In flight", formatCount(inFlight)],
        ]}
      />
    </li>
  );
}
