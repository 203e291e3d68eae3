/** The parts of every page: its heading, and the states in which it has no content. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { isRetryable, type Resource } from "../lib/resource.ts";
import { useMay, useSession } from "../session/use-session.ts";
import { Problem } from "./problem.tsx";

export function Page({
  title,
  lead,
  actions,
  children,
}: {
  title: string;
  lead?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  useEffect(() => {
    document.title = `${title} · Godwit`;
  }, [title]);
  return (
    <>
      <header class="page-head">
        <div>
          <h1 tabIndex={-1}>{title}</h1>
          {lead !== undefined && <p class="quiet">{lead}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

/** Shows a resource, or its loading or error state. The last data stays visible while the next is loading. */
export function Loaded<T>({
  resource,
  lines = 4,
  children,
}: {
  resource: Resource<T>;
  lines?: number;
  children: (data: T) => ComponentChildren;
}): JSX.Element {
  const { data, error, reload } = resource;
  return (
    <>
      {error !== undefined && <Problem error={error} onRetry={isRetryable(error) ? reload : undefined} />}
      {data !== undefined ? children(data) : error === undefined && <Skeleton lines={lines} />}
    </>
  );
}

function Skeleton({ lines }: { lines: number }): JSX.Element {
  return (
    <div class="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, at) => (
        <span key={at} />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children !== undefined && <div class="quiet">{children}</div>}
    </div>
  );
}

/** Shows its children if the key has the scope, and otherwise names the missing scope. */
export function Needs({
  scope,
  what,
  title,
  children,
}: {
  scope: string;
  what: string;
  title?: string;
  children: ComponentChildren;
}): JSX.Element {
  if (useMay(scope)) return <>{children}</>;
  const missing = <MissingScope scope={scope} what={what} />;
  return title === undefined ? missing : <Page title={title}>{missing}</Page>;
}

function MissingScope({ scope, what }: { scope: string; what: string }): JSX.Element {
  const { identity } = useSession();
  return (
    <Empty title={`Your key may not ${what}`}>
      <p>
        It lacks the scope <code>{scope}</code>. Create a key that has it with <code>godwit keys create</code>, or on the Keys page with a
        key that has <code>keys:write</code>. You are signed in with <code>{identity.name ?? identity.keyId}</code>.
      </p>
    </Empty>
  );
}
