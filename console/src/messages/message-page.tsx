/** The page of one message. */
import type { Message } from "godwit-sdk";
import type { ComponentChildren, JSX } from "preact";
import { apiTitle, formatDuration } from "../lib/format.ts";
import { Link } from "../lib/router.tsx";
import { useMay } from "../session/use-session.ts";
import { CarrierLink } from "../ui/carrier-name.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { MessageErrorCode } from "../ui/error-code.tsx";
import { Facts } from "../ui/facts.tsx";
import { MessageBubble } from "../ui/message-content.tsx";
import { Moment } from "../ui/moment.tsx";
import { Loaded, Page } from "../ui/page.tsx";
import { Quoted } from "../ui/quoted.tsx";
import { ResourceLink } from "../ui/resource-link.tsx";
import { Segments } from "../ui/segments.tsx";
import { Status } from "../ui/status.tsx";
import { MessageActions } from "./message-actions.tsx";
import { MessageDeliveries } from "./message-deliveries.tsx";
import { Parts } from "./parts.tsx";
import { Timeline } from "./timeline.tsx";
import { useMessage } from "./use-message.ts";

export function MessagePage({ id }: { id: string }): JSX.Element {
  const { message, timeline } = useMessage(id);
  const mayReadHooks = useMay("webhooks:read");
  const mayReadRequests = useMay("audit:read");
  const { data } = message;
  const person = (data?.direction === "inbound" ? data.sender : data?.recipient) ?? "";
  const onChanged = (changed: Message): void => {
    message.set(() => changed);
    timeline.reload();
  };
  return (
    <Page
      title={data === undefined ? "Message" : data.direction === "inbound" ? `From ${data.sender ?? "unknown"}` : `To ${data.recipient}`}
      lead={
        <>
          <Link to="messages">All messages</Link>
          {person !== "" && (
            <>
              {" "}
              · <Link to={`conversations/${encodeURIComponent(person)}`}>Conversation</Link>
            </>
          )}
          {mayReadRequests && (
            <>
              {" "}
              ·{" "}
              <Link to="requests" query={new URLSearchParams({ message_id: id })}>
                API requests
              </Link>
            </>
          )}
        </>
      }
      actions={data !== undefined && <MessageActions message={data} onChanged={onChanged} />}
    >
      <Loaded resource={message}>
        {(shown) => (
          <>
            <div class="columns wide-first">
              <div>
                <MessageText message={shown} />
                <section class="card" aria-label="Timeline">
                  <h2>Timeline</h2>
                  <Loaded resource={timeline}>{(entries) => <Timeline entries={entries} />}</Loaded>
                </section>
              </div>
              <section class="card" aria-label="Record">
                <h2>Record</h2>
                <Facts rows={Object.entries(toFacts(shown))} />
              </section>
            </div>
            {shown.segments !== null && shown.direction === "outbound" && <Parts message={shown} entries={timeline.data ?? []} />}
            {mayReadHooks && <MessageDeliveries entries={timeline.data ?? []} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function MessageText({ message }: { message: Message }): JSX.Element {
  const { status, error, body, content, segments } = message;
  return (
    <section class="card" aria-label="Text">
      <div class="card-head">
        <p role="status">
          <Status of={status} />
        </p>
        {segments !== null && (
          <p class="quiet">
            <Segments of={segments} />
          </p>
        )}
      </div>
      {error !== null && (
        <div class="notice bad">
          <p>
            <strong>
              <MessageErrorCode code={error.code} />
            </strong>
            : {error.message}
          </p>
          <p class="quiet">
            {error.permanent ? "The same message would fail again." : "A later message may succeed."}
            {error.provider_code !== null && ` Carrier code: ${error.provider_code}.`}
          </p>
        </div>
      )}
      {body === null && content === null ? (
        <p class="quiet">No text: the message was redacted, or was received without one.</p>
      ) : (
        <MessageBubble message={message} quoted={quotedBy(message)} />
      )}
    </section>
  );
}

/** The message that the phone shows above the text. An SMS quotes nothing. */
const quotedBy = ({ channel, in_reply_to: id }: Message): JSX.Element | undefined =>
  channel === "whatsapp" && id !== null ? <Quoted id={id} /> : undefined;

const at = (iso: string | null): ComponentChildren => (iso === null ? null : <Moment iso={iso} />);
const messageLink = (id: string | null): ComponentChildren => (id === null ? null : <Link to={`messages/${id}`}>{id}</Link>);

const toFacts = (message: Message): Readonly<Record<string, ComponentChildren>> => ({
  Id: (
    <>
      <code>{message.id}</code> <CopyButton text={message.id} />
    </>
  ),
  Channel: message.channel,
  API: message.source === null ? null : apiTitle(message.source),
  Recipient: message.recipient,
  Sender: chosen(message.sender, message.sender_reason),
  Priority: message.priority,
  Template: message.template_id === null ? null : <Template message={message} />,
  Reference: message.client_reference,
  Batch: message.batch_id === null ? null : <Batch id={message.batch_id} />,
  "Fallback of": messageLink(message.fallback_of),
  "In reply to": messageLink(message.in_reply_to),
  Files: filesOf(message),
  Metadata: Object.keys(message.metadata).length === 0 ? null : <Metadata of={message.metadata} />,
  Carrier: chosen(message.provider && <CarrierLink id={message.provider.link} />, message.link_reason),
  "Carrier id": <CarrierId of={message.provider} />,
  Attempts: message.provider?.attempts,
  Created: at(message.created_at),
  "Send at": at(message.send_at),
  Expires: at(message.expires_at),
  Sent: at(message.sent_at),
  Delivered: message.delivered_at === null ? null : <Delivered message={message} at={message.delivered_at} />,
  Read: at(message.read_at),
  Failed: at(message.failed_at),
  Canceled: at(message.canceled_at),
});

const filesOf = ({ content }: Message): ComponentChildren => {
  const header = content !== null && "header" in content && typeof content.header === "object" ? content.header : null;
  const named = [content, header, ...(content !== null && "further_media" in content ? (content.further_media ?? []) : [])];
  const ids = named.flatMap((each) => (each !== null && "media_id" in each ? [each.media_id] : []));
  return ids.length === 0 ? null : ids.map((id) => <ResourceLink key={id} type="media" id={id} />);
};

/** A sender or a carrier, with the reason for which it was chosen. */
const chosen = (value: ComponentChildren, reason: string | null): ComponentChildren =>
  value && (
    <>
      {value} {reason !== null && <span class="quiet">{reason.replaceAll("_", " ")}</span>}
    </>
  );

const CarrierId = ({ of }: { of: Message["provider"] }): JSX.Element | null => {
  const id = of?.message_id ?? null;
  return id === null ? <span class="quiet">–</span> : <code>{id}</code>;
};

const Template = ({ message: { template_id: id, template_version: version } }: { message: Message }): JSX.Element => (
  <>
    <Link to={`templates/${id}`}>{id}</Link> <span class="quiet">version {version}</span>
  </>
);

const Batch = ({ id }: { id: string }): JSX.Element => <Link to={`batches/${id}`}>{id}</Link>;

const Metadata = ({ of }: { of: Readonly<Record<string, string>> }): JSX.Element => (
  <dl class="raw">
    {Object.entries(of).map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

/** The time of delivery, with the duration since the message could be sent. */
function Delivered({ message: { created_at: createdAt, send_at: sendAt }, at: iso }: { message: Message; at: string }): JSX.Element {
  const began = Math.max(Date.parse(createdAt), sendAt === null ? 0 : Date.parse(sendAt));
  return (
    <>
      <Moment iso={iso} /> <span class="quiet">after {formatDuration(Date.parse(iso) - began)}</span>
    </>
  );
}
