/** The first steps to a delivered live message. Disappears when they are done, or when the user hides it. */
import type { Link as CarrierLink } from "godwit-sdk";
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { reasonOf } from "../lib/link-reason.ts";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useInterval, useOnChange, useThrottled } from "../lib/timing.ts";
import { useEvents } from "../session/live.tsx";
import type { Identity } from "../session/session.ts";
import { useApi, useMay, useSession } from "../session/use-session.ts";
import { LiveKey } from "../ui/live-key.tsx";

const REFRESH_MS = 10_000;
const RELOAD_MS = 1_000;

const storedName = ({ accountId, environment }: Identity): string => `godwit:first-steps:${accountId}:${environment}`;

// A browser may refuse access to its storage. Then the list is hidden until the page is closed.
const isStoredHidden = (identity: Identity): boolean => {
  try {
    return localStorage.getItem(storedName(identity)) !== null;
  } catch {
    return false;
  }
};

const storeHidden = (identity: Identity): void => {
  try {
    localStorage.setItem(storedName(identity), "hidden");
  } catch {
    // The browser refuses access to its storage.
  }
};

export function Checklist(): JSX.Element | null {
  const { identity } = useSession();
  const [isHidden, setHidden] = useState(() => isStoredHidden(identity));
  const hide = (): void => {
    storeHidden(identity);
    setHidden(true);
  };
  if (isHidden) return null;
  return identity.environment === "test" ? <StepsInTest onHide={hide} /> : <StepsInLive onHide={hide} />;
}

function StepsInTest({ onHide }: { onHide: () => void }): JSX.Element {
  const { hasMessage, hasEndpoint } = useTestProgress();
  return (
    <Steps onHide={onHide}>
      <Step title="Send a test message" isDone={hasMessage}>
        <p>
          The simulator delivers it within seconds. <Link to="send">Send a message</Link>, or follow the{" "}
          <a href="/docs/getting-started">quickstart</a>.
        </p>
      </Step>
      <Step title="Receive events" isDone={hasEndpoint}>
        <p>
          <Link to="endpoints">Add a webhook endpoint</Link>, or{" "}
          <a href="/docs/webhooks#develop-on-your-machine">forward the events to your own machine</a>.
        </p>
      </Step>
      <Step title="Sign in with a live key">
        <p>You are signed in to test, where the simulator carries all messages. Real messages need a live key.</p>
        <LiveKey />
      </Step>
      <Step title="Connect a carrier" />
      <Step title="Add a sender" />
      <Step title="Send a first message" />
    </Steps>
  );
}

/** Reads which of the first steps in test are done. A step whose records the key may not read stays open. */
function useTestProgress(): { hasMessage: boolean; hasEndpoint: boolean } {
  const api = useApi();
  const [mayReadMessages, mayReadHooks] = [useMay("messages:read"), useMay("webhooks:read")];
  const progress = useResource("first steps in test", async (signal) => {
    const [messages, endpoints] = await Promise.all([
      mayReadMessages ? api.messages.list({ limit: 1 }, { signal }).page() : undefined,
      mayReadHooks ? api.webhookEndpoints.list({ limit: 1 }, { signal }).page() : undefined,
    ]);
    return { hasMessage: (messages?.data.length ?? 0) > 0, hasEndpoint: (endpoints?.data.length ?? 0) > 0 };
  });
  const { data } = progress;
  // Once both are done, nothing can change any more.
  const isOpen = data === undefined || !data.hasMessage || !data.hasEndpoint;
  const reload = useThrottled(progress.reload, RELOAD_MS);
  useEvents(() => isOpen && reload());
  return data ?? { hasMessage: false, hasEndpoint: false };
}

type Progress = { links: readonly CarrierLink[]; hasSender: boolean; hasDelivered: boolean };

const isUp = ({ state }: CarrierLink): boolean => state === "connected" || state === "throttled";

/** Reads how far the account has come. */
function useProgress(): Progress | undefined {
  const api = useApi();
  const mayReadMessages = useMay("messages:read");
  const progress = useResource("first steps", async (signal): Promise<Progress> => {
    const [{ data: links }, { data: senders }, ...found] = await Promise.all([
      api.links.list({ signal }),
      api.senders.list({ signal }),
      ...(mayReadMessages ? DELIVERED : []).map((status) => api.messages.list({ status, limit: 1 }, { signal }).page()),
    ]);
    const hasSender = senders.length > 0 || links.some(({ sender }) => sender !== null);
    return { links, hasSender, hasDelivered: found.some(({ data }) => data.length > 0) };
  });
  useInterval(progress.reload, REFRESH_MS);
  useEvents(useThrottled(progress.reload, RELOAD_MS));
  return progress.data;
}

const DELIVERED = ["delivered", "read"] as const;

function StepsInLive({ onHide }: { onHide: () => void }): JSX.Element | null {
  const progress = useProgress();
  const isDone = progress !== undefined && progress.links.some(isUp) && progress.hasSender && progress.hasDelivered;
  useOnChange(isDone, onHide);
  if (progress === undefined || isDone) return null;
  const { links, hasSender, hasDelivered } = progress;
  const place = links[0] === undefined ? "carriers/new" : `carriers/${links[0].id}`;
  return (
    <Steps onHide={onHide}>
      <Step title="Sign in with a live key" isDone />
      <Step title="Connect a carrier" isDone={links.some(isUp)}>
        <ConnectStep links={links} />
      </Step>
      <Step title="Add a sender" isDone={hasSender}>
        <p>
          The number or name that your messages come from. <Link to={place}>Add a sender</Link>
        </p>
      </Step>
      <Step title="Send a first message" isDone={hasDelivered}>
        <p>
          Send one to your own number, and watch it become delivered. <Link to="send">Send a message</Link>
        </p>
      </Step>
    </Steps>
  );
}

function ConnectStep({ links: [link] }: { links: readonly CarrierLink[] }): JSX.Element {
  if (link === undefined)
    return (
      <p>
        Choose the carrier that you have an account with. <Link to="carriers/new">Add a carrier</Link>
      </p>
    );
  return (
    <p>
      {link.name} is not connected: {reasonOf(link) ?? link.state}. <Link to={`carriers/${link.id}`}>Test the connection</Link>
    </p>
  );
}

const Steps = ({ onHide, children }: { onHide: () => void; children: ComponentChildren }): JSX.Element => (
  <section class="card" aria-label="First steps">
    <div class="card-head">
      <h2>First steps to a real message</h2>
      <button type="button" class="small" onClick={onHide}>
        Hide
      </button>
    </div>
    <ol class="steps">{children}</ol>
  </section>
);

type StepProps = { title: string; isDone?: boolean; children?: ComponentChildren };

const Step = ({ title, isDone = false, children }: StepProps): JSX.Element => (
  <li class={isDone ? "done" : undefined}>
    <strong>{title}</strong> {isDone && <span class="status good">done</span>}
    {!isDone && children}
  </li>
);
