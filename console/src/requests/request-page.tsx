/** The page of one API request: its response, its faults, and its masked body if it was refused. */
import type { LoggedRequest } from "godwit-sdk";
import type { JSX } from "preact";
import { formatCount, formatDuration } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useApi } from "../session/use-session.ts";
import { CopyButton } from "../ui/copy.tsx";
import { ErrorCode } from "../ui/error-code.tsx";
import { Facts } from "../ui/facts.tsx";
import { Moment } from "../ui/moment.tsx";
import { Loaded, Page } from "../ui/page.tsx";
import { ResourceLink } from "../ui/resource-link.tsx";
import { ResponseStatus } from "../ui/status.tsx";

export function RequestPage({ id }: { id: string }): JSX.Element {
  const api = useApi();
  const request = useResource(id, (signal) => api.requests.get(id, { signal }));
  const { data } = request;
  return (
    <Page title={data === undefined ? "Request" : `${data.method} ${data.path}`} lead={<Link to="requests">Requests</Link>}>
      <Loaded resource={request}>
        {(shown) => (
          <div class={shown.code === null ? undefined : "columns wide-first"}>
            {shown.code !== null && <Refusal of={shown} code={shown.code} />}
            <RequestFacts of={shown} />
          </div>
        )}
      </Loaded>
    </Page>
  );
}

function Refusal({ of: { problem, body }, code }: { of: LoggedRequest; code: string }): JSX.Element {
  const faults = problem?.errors ?? [];
  return (
    <section class="card stack" aria-label="Refusal">
      <div class="notice bad">
        <p>
          <strong>
            <ErrorCode code={code} />
          </strong>
          {/* The detail names the first fault. */}
          {faults.length < 2 && <>: {problem?.detail}</>}
        </p>
      </div>
      {faults.length > 1 && (
        <dl class="raw" aria-label="Faults">
          {faults.map(({ pointer, parameter, header, detail }) => (
            <div key={`${pointer ?? parameter ?? header} ${detail}`}>
              <dt>{pointer ?? parameter ?? header ?? "request"}</dt>
              <dd>{detail}</dd>
            </div>
          ))}
        </dl>
      )}
      {body !== null && (
        <>
          <h2>Body, masked</h2>
          <pre>{indented(body)}</pre>
        </>
      )}
    </section>
  );
}

/** A body that was shortened is no JSON, and is shown as it is stored. */
function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

const RequestFacts = ({ of }: { of: LoggedRequest }): JSX.Element => (
  <section class="card" aria-label="Request">
    <div class="card-head">
      <h2>Request</h2>
      <p role="status">
        <ResponseStatus of={of.status} />
      </p>
    </div>
    <Facts
      rows={[
        [
          "Id",
          <>
            <code>{of.id}</code> <CopyButton text={of.id} />
          </>,
        ],
        ["Time", <Moment iso={of.created_at} />],
        ["Took", formatDuration(of.duration_ms)],
        ["Operation", <code>{of.operation}</code>],
        ["Message", of.message_id !== null && <ResourceLink type="message" id={of.message_id} />],
        ["Replayed", of.idempotent_replayed && "yes, the response of the first request with this idempotency key"],
        [
          "Key",
          <>
            <ResourceLink type="key" id={of.key.id} name={of.key.name ?? undefined} />{" "}
            {of.key.type === "token" && <span class="quiet">by an access token</span>}
          </>,
        ],
        ["Address", of.peer],
        ["Program", of.user_agent],
        ["Body", `${formatCount(of.request_bytes)} bytes`],
        ["Response", `${formatCount(of.response_bytes)} bytes`],
      ]}
    />
  </section>
);
