/** The URL that the carrier calls with receipts and inbound messages. */
import type { Link } from "godwit-sdk";
import type { JSX } from "preact";
import { Code } from "../ui/copy.tsx";
import { carrierOf } from "./carrier-fields.ts";

const isLocal = (url: string): boolean => /^https?:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])([:/]|$)/.test(url);

export function CallbackCard({ link, path }: { link: Link; path: string }): JSX.Element {
  const publicUrl = link.settings?.["public_url"];
  const base = typeof publicUrl === "string" ? publicUrl.replace(/\/$/, "") : location.origin;
  const help = carrierOf(link)?.callbackHelp;
  return (
    <section class="card stack" aria-label="Callback URL">
      <h2>Callback URL</h2>
      <p>The carrier sends delivery receipts and inbound messages to this URL.</p>
      <Code label="Callback URL" text={`${base}${path}`} />
      {help !== undefined && <p>{help}</p>}
      {isLocal(base) && (
        <p class="notice bad">
          <span>
            This address can be reached from this machine only, so no receipts arrive. Give the service a public address with TLS first.{" "}
            <a href="/docs/production">How to</a>
          </span>
        </p>
      )}
    </section>
  );
}
