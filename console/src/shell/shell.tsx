/** The frame of every page: the menu, the session, and the state of the event stream. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Link, useAddress } from "../lib/router.tsx";
import { useLiveState, type LiveState } from "../session/live.tsx";
import type { Session } from "../session/session.ts";
import { namesOf, useSession, useSessions } from "../session/use-session.ts";
import { Logo } from "./logo.tsx";
import { SectionIcon } from "./section-icon.tsx";
import { SECTIONS } from "./sections.ts";
import { THEMES, useTheme, type Theme } from "./theme.ts";

export function Shell({ children }: { children: ComponentChildren }): JSX.Element {
  const { path } = useAddress();
  const [isOpen, setOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    setOpen(false);
    // Users of a keyboard or a screen reader continue on the new page, not in the menu.
    if (!isFirst.current) main.current?.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [path]);
  const isLive = useSession().identity.environment === "live";
  return (
    <div class={isLive ? "shell live" : "shell"}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      {isLive && (
        <aside class="band" aria-label="Environment">
          Live: messages reach real recipients
        </aside>
      )}
      <header class="bar">
        <Logo />
        <button type="button" class="menu" aria-expanded={isOpen} aria-controls="menu" onClick={() => setOpen(!isOpen)}>
          Menu
        </button>
      </header>
      <div class={isOpen ? "side open" : "side"} id="menu">
        <Menu path={path} />
        <Account />
      </div>
      <main id="main" ref={main} tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function Menu({ path }: { path: string }): JSX.Element {
  const session = useSession();
  const [section] = path.split("/");
  return (
    <nav aria-label="Console">
      <ul>
        {SECTIONS.filter(({ scope }) => session.may(scope)).map(({ path: to, title }) => (
          <li key={to}>
            <Link to={to} aria-current={section === to ? "page" : undefined}>
              <SectionIcon of={to} />
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const LIVE_WORDS: Readonly<Record<LiveState, string>> = {
  off: "No live updates: the key lacks events:read",
  connecting: "Connecting…",
  live: "Connected",
  lost: "Connection lost, reconnecting…",
};

function Account(): JSX.Element {
  const session = useSession();
  const live = useLiveState();
  const [theme, setTheme] = useTheme();
  const { all, add } = useSessions();
  const { environment, name, keyId } = session.identity;
  const signOut = (): void => {
    for (const each of all) each.end("signed-out");
  };
  return (
    <section class="account" aria-label="Session">
      <p class={`stream ${live}`} role="status">
        {LIVE_WORDS[live]}
      </p>
      <p>
        <span class={`environment ${environment}`}>{environment}</span>{" "}
        <span class="quiet" title={keyId}>
          {name ?? "unnamed key"}
        </span>
      </p>
      <SessionChoice />
      <label class="theme">
        <span class="unseen">Colors</span>
        <select value={theme} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
          {THEMES.map((option) => (
            <option key={option} value={option}>
              {option === "system" ? "System colors" : option === "light" ? "Light" : "Dark"}
            </option>
          ))}
        </select>
      </label>
      <p class="links">
        <a href="/docs">Docs</a>{" "}
        <button type="button" class="as-link" onClick={add}>
          Add a key
        </button>{" "}
        <button type="button" class="as-link" onClick={signOut}>
          Sign out
        </button>
      </p>
    </section>
  );
}

/** Shows the data of another key. */
function SessionChoice(): JSX.Element | null {
  const session = useSession();
  const { all, select } = useSessions();
  if (all.length < 2) return null;
  const names = namesOf(all);
  return (
    <label>
      <span class="unseen">Switch to</span>
      <select value={all.indexOf(session)} onChange={(event) => select(all[Number(event.currentTarget.value)] as Session)}>
        {names.map((name, index) => (
          <option key={all[index]?.identity.keyId} value={index}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
