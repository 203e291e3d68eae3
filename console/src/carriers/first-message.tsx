/** Leads to the send page, for a message over the channel of the carrier. */
import type { Link as CarrierLink } from "godwit-sdk";
import type { JSX } from "preact";
import { Link } from "../lib/router.tsx";
import { useMay } from "../session/use-session.ts";

export function FirstMessage({ link }: { link: CarrierLink }): JSX.Element | null {
  if (!useMay("messages:send")) return null;
  return (
    <section class="card stack" aria-label="Message">
      <h2>Send a message</h2>
      <p>Send one to your own number, and watch it become delivered.</p>
      <div>
        <Link to="send" query={new URLSearchParams({ channel: link.channels[0] ?? "sms" })} class="button">
          Write a message
        </Link>
      </div>
    </section>
  );
}
