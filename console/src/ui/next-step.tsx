/** The next step after an error that the user can resolve in the console. */
import type { JSX } from "preact";
import { Link } from "../lib/router.tsx";
import { useSessionIfAny } from "../session/use-session.ts";

export function NextStep({ code }: { code: string }): JSX.Element | null {
  const session = useSessionIfAny();
  if (code !== "no_route" || session === undefined) return null;
  if (session.identity.environment === "live" && session.may("links:read"))
    return (
      <p>
        Check the states and the routes of your <Link to="carriers">carriers</Link>
        {session.may("links:write") && (
          <>
            , or <Link to="carriers/new">add a carrier</Link>
          </>
        )}
        . <a href="/docs/go-live">How to go live</a>
      </p>
    );
  return (
    <p>
      <a href="/docs/go-live">How to connect a carrier</a>
    </p>
  );
}
