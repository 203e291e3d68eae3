/** The console: the sign-in page, and the other pages for a signed-in user. */
import type { JSX } from "preact";
import { useErrorBoundary, useLayoutEffect, useRef, useState } from "preact/hooks";
import { AuditPage } from "./audit/audit-page.tsx";
import { BatchPage } from "./batches/batch-page.tsx";
import { BatchesPage } from "./batches/batches-page.tsx";
import { forgetRun } from "./bulk/current-run.ts";
import { CarrierPage } from "./carriers/carrier-page.tsx";
import { CarriersPage } from "./carriers/carriers-page.tsx";
import { ConversationPage } from "./conversations/conversation-page.tsx";
import { ConversationsPage } from "./conversations/conversations-page.tsx";
import { EndpointPage } from "./endpoints/endpoint-page.tsx";
import { EndpointsPage } from "./endpoints/endpoints-page.tsx";
import { KeysPage } from "./keys/keys-page.tsx";
import { useResource } from "./lib/resource.ts";
import { leaveRecord, Link, redirect, useAddress } from "./lib/router.tsx";
import { useOnChange } from "./lib/timing.ts";
import { forgetKeptDraft } from "./messages/draft.ts";
import { FilePage } from "./media/file-page.tsx";
import { MediaPage } from "./media/media-page.tsx";
import { MessagePage } from "./messages/message-page.tsx";
import { MessagesPage } from "./messages/messages-page.tsx";
import { OverviewPage } from "./overview/overview-page.tsx";
import { RequestPage } from "./requests/request-page.tsx";
import { RequestsPage } from "./requests/requests-page.tsx";
import { SendPage } from "./send/send-page.tsx";
import { LiveProvider } from "./session/live.tsx";
import { resume, type EndReason, type Identity, type OnEnd, type Session } from "./session/session.ts";
import { SessionContext, SessionsContext, useSession } from "./session/use-session.ts";
import { SECTIONS } from "./shell/sections.ts";
import { Shell } from "./shell/shell.tsx";
import { SignIn } from "./shell/sign-in.tsx";
import { SuppressionsPage } from "./suppressions/suppressions-page.tsx";
import { TemplatePage } from "./templates/template-page.tsx";
import { TemplatesPage } from "./templates/templates-page.tsx";
import { CarrierNames } from "./ui/carrier-name.tsx";
import { Empty, Loaded, Needs, Page } from "./ui/page.tsx";
import { Problem } from "./ui/problem.tsx";
import { ToastProvider } from "./ui/toast.tsx";
import { UsagePage } from "./usage/usage-page.tsx";
import { VerificationPage } from "./verifications/verification-page.tsx";
import { VerificationsPage } from "./verifications/verifications-page.tsx";

export function App(): JSX.Element {
  const [ended, setEnded] = useState<EndReason | undefined>(undefined);
  const onEnd: OnEnd = (reason, session) => {
    if (reason === "signed-out") forgetKeptDraft();
    forgetRun(session.api);
    setOpen(({ sessions, current }) => ({
      sessions: sessions.filter((other) => other !== session),
      current: current === session ? undefined : current,
    }));
    setEnded(reason);
  };
  const [{ sessions, current }, setOpen] = useState(() => resume(onEnd));
  const shown = useRef<Identity | undefined>(undefined);
  if (current !== undefined) shown.current = current.identity;
  const select = (session: Session): void => {
    leaveRecordOf(shown.current, session.identity);
    session.putFirst();
    setOpen({ sessions, current: session });
  };
  const begin = (session: Session): void => {
    // The new session of a key takes the place of its old one.
    for (const other of sessions) if (other.identity.keyId === session.identity.keyId) other.end("ended");
    leaveRecordOf(shown.current, session.identity);
    setOpen((open) => ({ sessions: [...open.sessions, session], current: session }));
  };
  const add = (): void => {
    setEnded(undefined);
    setOpen({ sessions, current: undefined });
  };
  if (current === undefined) return <SignIn ended={ended} others={sessions} onSelect={select} onSession={begin} onEnd={onEnd} />;
  return (
    <SessionsContext value={{ all: sessions, select, add }}>
      <SessionContext value={current}>
        <LiveProvider key={current.identity.keyId}>
          <ToastProvider>
            <Shell>
              <CurrentPage />
            </Shell>
          </ToastProvider>
        </LiveProvider>
      </SessionContext>
    </SessionsContext>
  );
}

/** An environment has no records of another one, so the page of a record becomes its list. */
function leaveRecordOf(before: Identity | undefined, { accountId, environment }: Identity): void {
  if (before !== undefined && (before.accountId !== accountId || before.environment !== environment)) leaveRecord();
}

/** Shows the page of the current address. An error of a page is shown in its place; the menu and the other pages keep working. */
function CurrentPage(): JSX.Element {
  const { path } = useAddress();
  const [fault, forget] = useErrorBoundary();
  useOnChange(path, forget);
  if (fault !== undefined)
    return (
      <Page title="Something went wrong">
        <Problem error={fault} onRetry={forget} />
      </Page>
    );
  return <SectionPage path={path} />;
}

function SectionPage({ path }: { path: string }): JSX.Element {
  const session = useSession();
  const first = SECTIONS.find(({ scope }) => session.may(scope));
  // A key that may not see the overview starts at the first page that it may see.
  if (path === "" && first !== undefined && first.path !== "") return <Redirect path={first.path} />;
  if (first === undefined) return <NoAccess />;
  const [section = "", id, ...rest] = path.split("/");
  const known = SECTIONS.find((one) => one.path === section);
  const page = known === undefined || rest.length > 0 ? undefined : findPage(section, id);
  if (known === undefined || page === undefined) return <NotFound />;
  return (
    <Needs scope={known.scope} what={`see ${known.title.toLowerCase()}`} title={known.title}>
      {page}
    </Needs>
  );
}

function findPage(section: string, id: string | undefined): JSX.Element | undefined {
  if (id !== undefined) {
    if (section === "messages")
      return (
        <CarrierNames key={id}>
          <MessagePage id={id} />
        </CarrierNames>
      );
    if (section === "conversations") return <ConversationPage key={id} person={decode(id)} />;
    if (section === "batches") return <BatchPage key={id} id={decode(id)} />;
    if (section === "verifications") return <VerificationPage key={id} id={decode(id)} />;
    if (section === "templates") return <TemplatePage key={id} id={id} />;
    if (section === "endpoints") return <EndpointPage key={id} id={id} />;
    if (section === "suppressions") return <SuppressionsPage key={id} id={id} />;
    if (section === "carriers") return <CarrierPage key={id} id={id} />;
    if (section === "requests") return <RequestPage key={id} id={id} />;
    if (section === "media") return <FilePage key={id} id={id} />;
    if (section === "keys") return <KeysPage key={id} id={id} />;
    return undefined;
  }
  return PAGES[section];
}

/** Decodes a part of the address, such as a number with its plus. A malformed one is not found. */
const decode = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

const PAGES: Readonly<Record<string, JSX.Element>> = {
  "": <OverviewPage />,
  messages: <MessagesPage />,
  conversations: <ConversationsPage />,
  batches: <BatchesPage />,
  verifications: <VerificationsPage />,
  send: (
    <CarrierNames>
      <SendPage />
    </CarrierNames>
  ),
  bulk: (
    <CarrierNames>
      <LoadedBulkPage />
    </CarrierNames>
  ),
  templates: <TemplatesPage />,
  media: <MediaPage />,
  endpoints: <EndpointsPage />,
  suppressions: <SuppressionsPage />,
  usage: <UsagePage />,
  carriers: <CarriersPage />,
  keys: <KeysPage />,
  requests: <RequestsPage />,
  audit: <AuditPage />,
};

/** The page has the plans of phone numbers, so it is loaded only when it is opened. */
function LoadedBulkPage(): JSX.Element {
  const page = useResource("bulk", () => import("./bulk/bulk-page.tsx"));
  return <Loaded resource={page}>{({ BulkPage }) => <BulkPage />}</Loaded>;
}

function Redirect({ path }: { path: string }): null {
  useLayoutEffect(() => redirect(path), [path]);
  return null;
}

const NoAccess = (): JSX.Element => (
  <Page title="No access">
    <Empty title="Your key has no scope of any page">
      <p>
        A page needs one of these scopes: <code>{[...new Set(SECTIONS.map(({ scope }) => scope))].join(", ")}</code>.
      </p>
    </Empty>
  </Page>
);

const NotFound = (): JSX.Element => (
  <Page title="Page not found">
    <Empty title="This page does not exist">
      <p>
        Check the address, or go to the <Link to="">overview</Link>.
      </p>
    </Empty>
  </Page>
);
