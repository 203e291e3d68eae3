/** The page of one conversation: the messages to and from a person, and a box for a reply. */
import type { Message } from "godwit-sdk";
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { formatDay } from "../lib/format.ts";
import { Link } from "../lib/router.tsx";
import { useMay } from "../session/use-session.ts";
import { MessageErrorCode } from "../ui/error-code.tsx";
import { MessageBubble } from "../ui/message-content.tsx";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { More } from "../ui/pages.tsx";
import { Quoted } from "../ui/quoted.tsx";
import { ScanStatus } from "../ui/scan-status.tsx";
import { Status } from "../ui/status.tsx";
import { isQuotable, isReactionIn, ownSideOf, reactionsOn, type Reaction } from "./conversation.ts";
import { ReplyBox } from "./reply-box.tsx";
import { useConversation } from "./use-conversation.ts";

export function ConversationPage({ person }: { person: string }): JSX.Element {
  const { messages, outbound, inbound, add } = useConversation(person);
  const maySend = useMay("messages:send");
  const [replyTo, setReplyTo] = useState<Message | undefined>(undefined);
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
        <Loaded resource={outbound.resource}>
          {() => <Thread messages={messages} isComplete={!inbound.isRunning} onReply={maySend ? setReplyTo : undefined} />}
        </Loaded>
        {(inbound.isRunning || inbound.hasMore || inbound.error !== undefined) && <ScanStatus scan={inbound} item="inbound message" />}
      </section>
      {maySend && isReady.current && <ReplyBox person={person} messages={messages} replyTo={replyTo} onReplyTo={setReplyTo} onSent={add} />}
    </Page>
  );
}

type OnReply = ((message: Message) => void) | undefined;
type ThreadProps = { messages: readonly Message[]; isComplete: boolean; onReply: OnReply };

function Thread({ messages, isComplete, onReply }: ThreadProps): JSX.Element | null {
  if (messages.length === 0) return isComplete ? <Empty title="No messages with this person" /> : null;
  const reactions = reactionsOn(messages);
  const known = new Map(messages.map((message) => [message.id, message]));
  // The phone shows a reaction beside its message.
  const shown = messages.filter((message) => !isReactionIn(message, known));
  return (
    <ol class="thread" aria-label="Messages">
      {shown.map((message, at) => {
        const isNewDay = formatDay(message.created_at) !== formatDay(shown[at - 1]?.created_at ?? message.created_at) || at === 0;
        return (
          <Item
            key={message.id}
            message={message}
            day={isNewDay ? formatDay(message.created_at) : undefined}
            quoted={known.get(message.in_reply_to ?? "")}
            reactions={reactions.get(message.id) ?? []}
            onReply={isQuotable(message) ? onReply : undefined}
          />
        );
      })}
    </ol>
  );
}

type ItemProps = {
  message: Message;
  day: string | undefined;
  quoted: Message | undefined;
  reactions: readonly Reaction[];
  onReply: OnReply;
};

function Item({ message, day, quoted, reactions, onReply }: ItemProps): JSX.Element {
  const { id, direction, channel, status, error, created_at: at, in_reply_to: replyTo } = message;
  const isInbound = direction === "inbound";
  return (
    <li class={isInbound ? "inbound" : "outbound"}>
      {day !== undefined && <p class="day quiet">{day}</p>}
      {/* An SMS quotes nothing. */}
      <MessageBubble
        message={message}
        quoted={replyTo !== null && channel === "whatsapp" ? <Quoted id={replyTo} known={quoted} /> : undefined}
      />
      {reactions.length > 0 && <Reactions of={reactions} />}
      <p class="about quiet">
        {isInbound ? "to" : "from"} {ownSideOf(message) ?? "the default sender"} · {channel} · <Ago iso={at} /> ·{" "}
        {!isInbound && <Status of={status} />} {error !== null && <MessageErrorCode code={error.code} />}{" "}
        <Link to={`messages/${id}`}>Details</Link>
        {onReply !== undefined && (
          <>
            {" "}
            ·{" "}
            <button type="button" class="as-link" onClick={() => onReply(message)}>
              Reply
            </button>
          </>
        )}
      </p>
    </li>
  );
}

const Reactions = ({ of }: { of: readonly Reaction[] }): JSX.Element => (
  <p class="reactions">
    {of.map(({ emoji, by: { id, direction, status } }) => (
      <Link key={id} to={`messages/${id}`}>
        {emoji}
        <span class="unseen">
          Reaction of {direction === "inbound" ? "the person" : "yours"}, {status}
        </span>
      </Link>
    ))}
  </p>
);
