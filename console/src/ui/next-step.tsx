/** The next step after an error that the user can resolve in the console. */
import type { JSX } from "preact";
import { Link } from "../lib/router.tsx";
import type { Session } from "../session/session.ts";
import { useSessionIfAny } from "../session/use-session.ts";

type StepProps = { code: string; recipient?: string | undefined };

export function NextStep({ code, recipient }: StepProps): JSX.Element | null {
  const session = useSessionIfAny();
  if (session === undefined) return null;
  if (code === "no_route") return <CarrierStep session={session} />;
  if (code === "recipient_opted_out") return <SuppressionStep session={session} recipient={recipient} />;
  return null;
}

const CarrierStep = ({ session }: { session: Session }): JSX.Element =>
  session.identity.environment === "live" && session.may("links:read") ? (
    <p>
      Check the states and the routes of your <Link to="carriers">carriers</Link>
      {session.may("links:write") && (
        <>
          , or <Link to="carriers/new">add a carrier</Link>
        </>
      )}
      . <a href="/docs/go-live">How to go live</a>
    </p>
  ) : (
    <p>
      <a href="/docs/go-live">How to connect a carrier</a>
    </p>
  );

// The simulator refuses it without an entry in the suppressions.
const OPTED_OUT_TEST_NUMBER = "+15005550004";

const SuppressionStep = ({ session, recipient }: { session: Session; recipient: string | undefined }): JSX.Element | null =>
  recipient === undefined || recipient === OPTED_OUT_TEST_NUMBER || !session.may("suppressions:read") ? null : (
    <p>
      <Link to="suppressions" query={new URLSearchParams({ recipient })}>
        See the suppression
      </Link>
    </p>
  );
