/** The timeline of a message: its statuses, the attempts to submit it, and the delivery receipts. */
import type { TimelineEntry } from "godwit-sdk";
import type { JSX } from "preact";
import { formatClock, formatDay, words } from "../lib/format.ts";
import { Link } from "../lib/router.tsx";
import { CarrierName, Reason } from "../ui/carrier-name.tsx";
import { MessageErrorCode } from "../ui/error-code.tsx";
import { Ago } from "../ui/moment.tsx";
import { Status } from "../ui/status.tsx";

export function Timeline({ entries }: { entries: readonly TimelineEntry[] }): JSX.Element {
  return (
    <ol class="timeline">
      {entries.map((entry, at) => {
        const isNewDay = at === 0 || formatDay(entry.created_at) !== formatDay(entries[at - 1]?.created_at ?? "");
        return (
          <li key={entry.id} class={entry.ignored ? "ignored" : undefined}>
            <p class="when">
              {isNewDay && <span>{formatDay(entry.created_at)} </span>}
              <time dateTime={entry.created_at}>{formatClock(entry.created_at)}</time>
            </p>
            <div class="what">
              <Headline entry={entry} />
              {entry.attempt !== null && <Attempt attempt={entry.attempt} />}
              {entry.receipt !== null && <Receipt receipt={entry.receipt} />}
              {entry.fallback_message_id !== null && (
                <p>
                  Fallback message: <Link to={`messages/${entry.fallback_message_id}`}>{entry.fallback_message_id}</Link>
                </p>
              )}
            </div>
          </li>
        );
      })}
    </ol>
  );
}

function Headline({ entry: { type, status, ignored, reason } }: { entry: TimelineEntry }): JSX.Element {
  return (
    <p>
      {status === null ? <span class="strong">{words(type.replace(".", " "))}</span> : <Status of={status} />}{" "}
      {ignored && <span class="quiet">ignored</span>}
      {reason !== null && (
        <span class="quiet">
          <Reason text={reason} />
        </span>
      )}
    </p>
  );
}

function Attempt({ attempt }: { attempt: NonNullable<TimelineEntry["attempt"]> }): JSX.Element {
  const { number, link, outcome, provider_message_id: id, provider_code: code, detail, retry_at: retryAt } = attempt;
  return (
    <p>
      Attempt {number} at{" "}
      <strong>
        <CarrierName id={link} />
      </strong>
      : {outcome === "written" ? "submitted" : outcome}
      {code !== null && (
        <>
          {" "}
          · carrier code <code>{code}</code>
        </>
      )}
      {id !== null && (
        <>
          {" "}
          · carrier id <code>{id}</code>
        </>
      )}
      {detail !== null && <> · {detail}</>}
      {retryAt !== null && (
        <>
          {" "}
          · next attempt <Ago iso={retryAt} />
        </>
      )}
    </p>
  );
}

function Receipt({ receipt }: { receipt: NonNullable<TimelineEntry["receipt"]> }): JSX.Element {
  const { link, status, part, error_code: error, provider_code: code, raw } = receipt;
  const rawFields = Object.entries(raw);
  return (
    <>
      <p>
        <strong>
          <CarrierName id={link} />
        </strong>{" "}
        reports {status}
        {part !== null && <> for part {part}</>}
        {error !== null && (
          <>
            {" "}
            · <MessageErrorCode code={error} />
          </>
        )}
        {code !== null && (
          <>
            {" "}
            · carrier code <code>{code}</code>
          </>
        )}
      </p>
      {rawFields.length > 0 && (
        <details>
          <summary>Raw carrier response</summary>
          <dl class="raw">
            {rawFields.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </>
  );
}
