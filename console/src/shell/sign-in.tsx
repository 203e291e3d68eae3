/** The sign-in page. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { isKeyFormed, KEY_FORM, signIn, type EndReason, type OnEnd, type Session } from "../session/session.ts";
import { namesOf } from "../session/use-session.ts";
import { Command } from "../ui/command.tsx";
import { Field } from "../ui/field.tsx";
import { Problem } from "../ui/problem.tsx";
import { Logo } from "./logo.tsx";

type SignInProps = {
  ended: EndReason | undefined;
  /** The sessions of other keys, to which the user can return. */
  others: readonly Session[];
  onSelect: (session: Session) => void;
  onSession: (session: Session) => void;
  onEnd: OnEnd;
};

export function SignIn({ ended, others, onSelect, onSession, onEnd }: SignInProps): JSX.Element {
  const [key, setKey] = useState("");
  const [isTyped, setTyped] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const action = useAction(async () => onSession(await signIn(key.trim(), onEnd)));
  useEffect(() => {
    document.title = "Sign in · Godwit";
    input.current?.focus();
  }, []);
  const isFormed = isKeyFormed(key.trim());
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    setTyped(true);
    if (isFormed) void action.run();
  };
  const fault = isTyped && !isFormed ? KEY_FORM : undefined;
  return (
    <main class="door">
      <Logo />
      <h1>Sign in</h1>
      {ended === "ended" && (
        <p class="notice" role="status">
          Your session has ended. Sign in again to continue on the same page.
        </p>
      )}
      {ended === "signed-out" && (
        <p class="notice" role="status">
          You are signed out.
        </p>
      )}
      <form onSubmit={submit} noValidate>
        <Field
          label="API key"
          error={fault}
          hint="The page keeps the key only in memory. After a reload, the session continues with an access token of this tab, for at most one hour."
        >
          {(control) => (
            <input
              {...control}
              ref={input}
              type="password"
              autoComplete="off"
              spellcheck={false}
              placeholder="gw_test_…"
              value={key}
              onInput={(event) => {
                setKey(event.currentTarget.value);
                action.clear();
              }}
              onBlur={() => setTyped(key !== "")}
            />
          )}
        </Field>
        <Problem error={action.error} />
        <button type="submit" class="primary wide" disabled={action.isRunning}>
          {action.isRunning ? "Signing in…" : "Sign in"}
        </button>
      </form>
      {others.length > 0 && (
        <section class="stack" aria-label="Other sessions">
          {namesOf(others).map((name, index) => (
            <button key={others[index]?.identity.keyId} type="button" class="wide" onClick={() => onSelect(others[index] as Session)}>
              Continue with {name}
            </button>
          ))}
        </section>
      )}
      <div class="stack quiet">
        <p>The first start of the service prints a test key. To create another one, run this command on its machine:</p>
        <Command label="Create a test key" args="keys create --environment test --scopes all" />
        <p>
          <a href="/docs/console">About the console</a>
        </p>
      </div>
    </main>
  );
}
