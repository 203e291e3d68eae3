/** The page of one conversation: the messages to and from a person, and a box for a reply. */
import type { Message } from "godwit-sdk";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { formatDay } from "../lib/format.ts";
import { Link } from "../lib/router.tsx";
import { useMay } from "../session/use-session.ts";
import { MessageErrorCode } from "../ui/error-code.tsx";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { More } from "../ui/pages.tsx";
import { ScanStatus } from "../ui/scan-status.tsx";
import { Status } from "../ui/status.tsx";
import { ownSideOf } from "./conversation.ts";
import { ReplyBox } from "./reply-box.tsx";
import { useConversation } from "./use-conversation.ts";

export function ConversationPage({ person }: { person: string }): JSX.Element {
  const { messages, outbound, inbound, add } = useConversation(person);
  const maySend = useMay("messages:send");
  // Once shown, the box stays, because a search of older messages must not remove what the user has written.
  const isReady = useRef(false);
  if (outbound.resource.data !== undefined && !inbound.isRunning) isReady.current = true;
  return (
    <Page title={person} lead={<Link to="conversations">All conversations</Link>}>
      <section class="card" aria-label="Conversation">
        <div class="card-head">
          <h2>Messages</h2>
          <Link to="messages" query={new URLSearchParams({ recipient: person })}>
            Messages to {person}
          </Link>
        </div>
        <More list={outbound} />
        <Loaded resource={outbound.resource}>{() => <Thread messages={messages} isComplete={!inbound.isRunning} />}</Loaded>
        {(inbound.isRunning || inbound.hasMore || inbound.error !== undefined) && <ScanStatus scan={inbound} item="inbound message" />}
      </section>
      {maySend && isReady.current && <ReplyBox person={person} messages={messages} onSent={add} />}
    </Page>
  );
}

function Thread({ messages, isComplete }: { messages: readonly Message[]; isComplete: boolean }): JSX.Element | null {
  if (messages.length === 0) return isComplete ? <Empty title="No messages with this person" /> : null;
  return (
    <ol class="thread" aria-label="Messages">
      {messages.map((message, at) => {
        const isNewDay = formatDay(message.created_at) !== formatDay(messages[at - 1]?.created_at ?? message.created_at) || at === 0;
        return <Item key={message.id} message={message} day={isNewDay ? formatDay(message.created_at) : undefined} />;
      })}
    </ol>
  );
}

function Item({ message, day }: { message: Message; day: string | undefined }): JSX.Element {
  const { id, direction, channel, body, status, error, created_at: at } = message;
  const isInbound = direction === "inbound";
  return (
    <li class={isInbound ? "inbound" : "outbound"}>
      {day !== undefined && <p class="day quiet">{day}</p>}
      <p class="bubble">{body ?? <span class="quiet">No text</span>}</p>
      <p class="about quiet">
        {isInbound ? "to" : "from"} {ownSideOf(message) ?? "the default sender"} · {channel} · <Ago iso={at} /> ·{" "}
        {!isInbound && <Status of={status} />} {error !== null && <MessageErrorCode code={error.code} />}{" "}
        <Link to={`messages/${id}`}>Details</Link>
      </p>
    </li>
  );
}
