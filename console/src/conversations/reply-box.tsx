/** The box for a reply. It respects the service window of WhatsApp and opt-outs, as the service does. */
import { newIdempotencyKey, type Message, type NewMessage, type Suppression } from "godwit-sdk";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { formatMoment } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useEvents } from "../session/live.tsx";
import { useApi, useMay } from "../session/use-session.ts";
import { Field, SelectField, TextField } from "../ui/field.tsx";
import { faultAt, Problem } from "../ui/problem.tsx";
import { Quoted } from "../ui/quoted.tsx";
import { blockingSuppression, replyDefaults, windowOf, type ServiceWindow } from "./conversation.ts";

type ReplyBoxProps = {
  person: string;
  messages: readonly Message[];
  /** The message that the reply quotes. */
  replyTo: Message | undefined;
  onReplyTo: (message: Message | undefined) => void;
  onSent: (message: Message) => void;
};

export function ReplyBox({ person, messages, replyTo, onReplyTo, onSent }: ReplyBoxProps): JSX.Element {
  const api = useApi();
  const defaults = replyDefaults(messages);
  const [channel = defaults.channel, setChannel] = useState<string | undefined>(undefined);
  const [sender = defaults.sender, setSender] = useState<string | undefined>(undefined);
  const [body, setBody] = useState("");
  const window = windowOf(messages, channel, sender.trim(), Date.now());
  const blocking = blockingSuppression(useSuppressions(person), sender.trim());
  const request: NewMessage = {
    recipient: person,
    channel: channel as NewMessage["channel"],
    body,
    ...(sender.trim() === "" ? {} : { sender: sender.trim() }),
    ...(replyTo === undefined || channel !== replyTo.channel ? {} : { reply_to: replyTo.id }),
  };
  const text = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (replyTo !== undefined) text.current?.focus();
  }, [replyTo]);
  // One idempotency key for each content: a second click, or a retry after a lost connection, sends no second message.
  const [sent, setSent] = useState(0);
  const idempotencyKey = useMemo(newIdempotencyKey, [JSON.stringify(request), sent]);
  const action = useAction(async () => {
    onSent(await api.messages.send(request, { idempotencyKey }));
    setBody("");
    onReplyTo(undefined);
    setSent(sent + 1);
  });
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    void action.run();
  };
  const isRefused = blocking !== undefined || window.kind === "closed";
  return (
    <form class="card stack" aria-label="Reply" onSubmit={onSubmit} noValidate>
      <h2>Reply</h2>
      <div class="field-row">
        <SelectField
          label="Channel"
          value={channel}
          onValue={setChannel}
          options={[
            ["sms", "SMS"],
            ["whatsapp", "WhatsApp"],
          ]}
        />
        <TextField label="Sender" isOptional value={sender} onValue={setSender} error={faultAt(action.error, "/sender")} />
      </div>
      {blocking !== undefined && <OptedOut person={person} suppression={blocking} />}
      <WindowNotice window={window} />
      {request.reply_to !== undefined && replyTo !== undefined && (
        <div class="actions">
          <Quoted id={replyTo.id} known={replyTo} />
          <button type="button" class="small" onClick={() => onReplyTo(undefined)}>
            Do not quote
          </button>
        </div>
      )}
      <Field label="Text" error={faultAt(action.error, "/body") ?? faultAt(action.error, "/reply_to")}>
        {(control) => (
          <textarea {...control} ref={text} rows={3} value={body} onInput={({ currentTarget }) => setBody(currentTarget.value)} />
        )}
      </Field>
      <Problem error={action.error} recipient={person} />
      <div class="actions">
        <button type="submit" class="primary" disabled={action.isRunning || isRefused || body.trim() === ""}>
          {action.isRunning ? "Sending…" : "Send the reply"}
        </button>
        <Link
          to="send"
          query={new URLSearchParams({ channel, recipient: person, ...(sender.trim() === "" ? {} : { sender: sender.trim() }) })}
        >
          Send a file or another content
        </Link>
      </div>
    </form>
  );
}

/** The active suppressions of the person. Without the scope to read them, the service still refuses the message. */
function useSuppressions(person: string): readonly Suppression[] {
  const api = useApi();
  const mayRead = useMay("suppressions:read");
  const { data, reload } = useResource(mayRead ? person : null, async (signal) => {
    const page = await api.suppressions.list({ recipient: person, status: "active" }, { signal }).page();
    return page.data;
  });
  useEvents((events) => {
    if (events.some(({ data: { suppression } }) => suppression?.recipient === person)) reload();
  });
  return data ?? [];
}

const OptedOut = ({ person, suppression: { id, sender, source } }: { person: string; suppression: Suppression }): JSX.Element => (
  <p class="notice bad" role="status">
    <span>
      {source === "keyword" || source === "carrier" ? `${person} has opted out` : `${person} is suppressed`}
      {sender !== null && ` of messages from ${sender}`}. No messages can be sent.{" "}
      <Link to={`suppressions/${id}`}>See the suppression</Link>
    </span>
  </p>
);

function WindowNotice({ window }: { window: ServiceWindow }): JSX.Element | null {
  if (window.kind === "not_needed") return null;
  if (window.kind === "open")
    return (
      <p class="hint" role="status">
        The service window is open until {formatMoment(new Date(window.untilMs).toISOString())}.
      </p>
    );
  const template = (
    <Link to="send" query={new URLSearchParams({ channel: "whatsapp" })}>
      Send a template
    </Link>
  );
  if (window.kind === "unknown")
    return (
      <p class="hint" role="status">
        No WhatsApp message of this person was found, so WhatsApp may refuse free text. {template}
      </p>
    );
  return (
    <p class="notice" role="status">
      <span>
        The service window closed at {formatMoment(new Date(window.untilMs).toISOString())}. Free text can be sent only within 24 hours
        after the last message of the person. {template}
      </span>
    </p>
  );
}
