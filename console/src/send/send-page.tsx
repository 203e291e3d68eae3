/** The page that sends a message: validated while it is typed, sent once, followed to its final status. */
import { newIdempotencyKey, type MessageValidation } from "godwit-sdk";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { refusesIncomplete } from "../lib/form.ts";
import { useLastDefined, useResource } from "../lib/resource.ts";
import { useAddress } from "../lib/router.tsx";
import { useDebounced } from "../lib/timing.ts";
import type { FileDraft } from "../messages/content-draft.ts";
import { changedPointers, EMPTY, keepDraft, takeKeptDraft, toRequest, type Draft } from "../messages/draft.ts";
import { useApi, useSession } from "../session/use-session.ts";
import { ErrorCode } from "../ui/error-code.tsx";
import { NextStep } from "../ui/next-step.tsx";
import { Page } from "../ui/page.tsx";
import { faultAt, Problem } from "../ui/problem.tsx";
import { CodeCard } from "./code-card.tsx";
import { FollowedMessage } from "./followed-message.tsx";
import { SendForm } from "./send-form.tsx";
import { UnconnectedCarrier } from "./unconnected-carrier.tsx";

const DEBOUNCE_MS = 250;

export function SendPage(): JSX.Element {
  const api = useApi();
  const { identity } = useSession();
  const { query } = useAddress();
  const [untouched] = useState<Draft>(() => takeKeptDraft(identity.keyId) ?? firstDraft(query));
  const [draft, setDraft] = useState(untouched);
  const latest = useRef(draft);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [sent, setSent] = useState<{ id: string; key: string } | undefined>(undefined);
  const request = useMemo(() => toRequest(draft), [draft]);
  const text = JSON.stringify(request);
  // One idempotency key for each content: a second click, or a retry after a lost connection, sends no second message. A button explicitly
  // requests another copy.
  const [copy, setCopy] = useState(0);
  const idempotencyKey = useMemo(newIdempotencyKey, [text, copy]);
  const isSent = sent?.key === idempotencyKey;
  const debouncedText = useDebounced(text, DEBOUNCE_MS);
  const checked = useResource<MessageValidation>(debouncedText, (signal) =>
    api.messages.validate(JSON.parse(debouncedText) as typeof request, { signal, maxRetries: 1 }),
  );
  // The last validation stays visible while the next one is loading, so that the page does not jump.
  const shown = useLastDefined(checked.data);
  const action = useAction(async () => {
    const { id } = await api.messages.send(request, { idempotencyKey });
    setSent({ id, key: idempotencyKey });
    setTouched(new Set());
  });
  // An unsent draft is kept for the return from another page or from a new sign-in.
  const unsent = useRef<Draft | undefined>(undefined);
  unsent.current = isSent || draft === untouched ? undefined : draft;
  useEffect(
    () => () => {
      if (unsent.current !== undefined) keepDraft(unsent.current, identity.keyId);
    },
    [identity.keyId],
  );
  const onChange = (change: Partial<Draft>): void => {
    // An upload ends later than it began, when other fields may have changed.
    const before = latest.current;
    latest.current = { ...before, ...change };
    const pointers = changedPointers(toRequest(before), toRequest(latest.current));
    setDraft(latest.current);
    setTouched((seen) => new Set([...seen, ...pointers]));
    action.clear();
  };
  const faultOf = (pointer: string): string | undefined => {
    const refused = faultAt(action.error, pointer);
    if (refused !== undefined) return refused;
    const isSeen = [...touched].some((seen) => pointer === seen || pointer.startsWith(`${seen}/`) || seen.startsWith(`${pointer}/`));
    return isSeen ? shown?.errors.find((fault) => fault.pointer === pointer)?.detail : undefined;
  };
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (refusesIncomplete(event.currentTarget as HTMLFormElement)) return;
    setTouched(WHOLE);
    void action.run();
  };
  return (
    <Page
      title="Send"
      lead={
        identity.environment === "live"
          ? "Live environment: the message is sent to a real recipient."
          : "Test environment: the simulator responds, and no message is sent to a phone."
      }
    >
      <div class="columns">
        <form class="card stack" onSubmit={onSubmit} noValidate aria-label="New message">
          <SendForm draft={draft} validation={shown} faultOf={faultOf} onChange={onChange} />
          {/* The refusal of the request has the same faults as its validation. */}
          {action.error === undefined && <GeneralFaults validation={shown} touched={touched} />}
          <Problem error={checked.error} onRetry={checked.reload} />
          <Problem error={action.error} />
          <UnconnectedCarrier id={shown?.route?.link} />
          <div class="actions">
            <button type="submit" class="primary" disabled={action.isRunning || isSent}>
              {action.isRunning ? "Sending…" : isSent ? "Sent" : draft.sendAt === "" ? "Send" : "Schedule"}
            </button>
            {isSent && (
              <button type="button" onClick={() => setCopy(copy + 1)}>
                Send another copy
              </button>
            )}
          </div>
        </form>
        <div>
          {sent !== undefined && <FollowedMessage key={sent.id} id={sent.id} />}
          <CodeCard request={request} idempotencyKey={idempotencyKey} />
        </div>
      </div>
    </Page>
  );
}

/** Faults that do not belong to a single field, such as a missing route. */
function GeneralFaults({
  validation,
  touched,
}: {
  validation: MessageValidation | undefined;
  touched: ReadonlySet<string>;
}): JSX.Element | null {
  const whole = validation?.errors.filter(({ pointer }) => pointer === "") ?? [];
  if (whole.length === 0 || touched.size === 0) return null;
  return (
    <div class="notice bad" role="status">
      {whole.map(({ code, detail }) => (
        <div key={code}>
          <p>
            {detail} <ErrorCode code={code} />
          </p>
          <NextStep code={code} />
        </div>
      ))}
    </div>
  );
}

// Every pointer is below the empty one.
const WHOLE: ReadonlySet<string> = new Set([""]);

function firstDraft(query: URLSearchParams): Draft {
  const template = query.get("template") ?? "";
  const media = query.get("media") ?? "";
  const kind = template === "" ? (media === "" ? "text" : "media") : "template";
  const file: FileDraft = { ...EMPTY.file, source: media === "" ? "upload" : "stored", mediaId: media };
  const given = (name: "channel" | "recipient" | "sender"): string => query.get(name) ?? EMPTY[name];
  return { ...EMPTY, template, kind, file, channel: given("channel"), recipient: given("recipient"), sender: given("sender") };
}
