/** The error codes of undelivered messages, the most frequent first. */
import type { Usage } from "godwit-sdk";
import type { JSX } from "preact";
import { plural } from "../lib/format.ts";
import { Link } from "../lib/router.tsx";
import { useMay } from "../session/use-session.ts";
import { MessageErrorCode } from "../ui/error-code.tsx";
import { Empty } from "../ui/page.tsx";

const MAX_SHOWN = 10;

export function Errors({ usage }: { usage: Usage }): JSX.Element {
  const mayRead = useMay("messages:read");
  const errors = Object.entries(usage.totals.by_error_code).toSorted(([, a], [, b]) => b - a);
  const most = errors[0]?.[1] ?? 1;
  return (
    <section class="card" aria-label="Errors by code">
      <h2>Errors by code</h2>
      {errors.length === 0 ? (
        <Empty title="No errors in this period" />
      ) : (
        <ul class="ranked">
          {errors.slice(0, MAX_SHOWN).map(([code, count]) => (
            <li key={code}>
              <MessageErrorCode code={code} />
              {mayRead ? (
                <Link to="messages" query={new URLSearchParams({ error_code: code, created_after: usage.from })}>
                  {plural(count, "message")}
                </Link>
              ) : (
                <span>{plural(count, "message")}</span>
              )}
              <span class="share" style={{ inlineSize: `${(count / most) * 100}%` }} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
