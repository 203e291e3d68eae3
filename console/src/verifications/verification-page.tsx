/** The page of one verification: its status, the check of a code, and its cancellation. */
import type { Verification } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useInterval } from "../lib/timing.ts";
import { useApi, useMay } from "../session/use-session.ts";
import { CopyButton } from "../ui/copy.tsx";
import { TextField } from "../ui/field.tsx";
import { Facts } from "../ui/facts.tsx";
import { Ago, Moment } from "../ui/moment.tsx";
import { Loaded, Page } from "../ui/page.tsx";
import { faultAt, Problem } from "../ui/problem.tsx";
import { ResourceLink } from "../ui/resource-link.tsx";
import { Status } from "../ui/status.tsx";

const REFRESH_MS = 3_000;

export function VerificationPage({ id }: { id: string }): JSX.Element {
  const api = useApi();
  const mayWrite = useMay("verifications:write");
  const verification = useResource(id, (signal) => api.verifications.get(id, { signal }));
  const { data, set } = verification;
  const isPending = data?.status === "pending";
  // Verifications have no events.
  useInterval(verification.reload, isPending ? REFRESH_MS : null);
  return (
    <Page
      title={data === undefined ? "Verification" : `Verification of ${data.recipient}`}
      lead={<Link to="verifications">Verifications</Link>}
    >
      <Loaded resource={verification}>
        {(shown) => (
          <div class="columns">
            <VerificationFacts of={shown} />
            {mayWrite && isPending && <CheckCode of={shown} onChanged={(changed) => set(() => changed)} />}
          </div>
        )}
      </Loaded>
    </Page>
  );
}

const VerificationFacts = ({ of }: { of: Verification }): JSX.Element => (
  <section class="card" aria-label="Verification">
    <div class="card-head">
      <h2>Verification</h2>
      <p role="status">
        <Status of={of.status} />
      </p>
    </div>
    <Facts
      rows={[
        [
          "Id",
          <>
            <code>{of.id}</code> <CopyButton text={of.id} />
          </>,
        ],
        ["Recipient", of.recipient],
        ["Channels", of.channels.join(", then ")],
        ["Message", <ResourceLink type="message" id={of.message_id} />],
        ["Digits", of.code_length],
        ["Wrong codes", String(of.attempts)],
        ["Attempts left", String(of.attempts_left)],
        ["Created", <Moment iso={of.created_at} />],
        ["Expires", <Ago iso={of.expires_at} />],
        ["Verified", of.verified_at !== null && <Moment iso={of.verified_at} />],
      ]}
    />
  </section>
);

function CheckCode({
  of: { id, environment, code_length: digits },
  onChanged,
}: {
  of: Verification;
  onChanged: (changed: Verification) => void;
}): JSX.Element {
  const api = useApi();
  const [code, setCode] = useState("");
  const [isWrong, setWrong] = useState(false);
  const check = useAction(async () => {
    const { valid, ...changed } = await api.verifications.check(id, { code: code.trim() });
    setWrong(!valid);
    onChanged(changed);
  });
  const cancel = useAction(async () => onChanged(await api.verifications.cancel(id)));
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    void check.run();
  };
  const isRunning = check.isRunning || cancel.isRunning;
  return (
    <form class="card stack" aria-label="Check a code" onSubmit={onSubmit} noValidate>
      <h2>Check a code</h2>
      {environment === "test" && <p class="hint">In test, the code is always {"1234567890".slice(0, digits)}.</p>}
      <TextField
        label="Code"
        value={code}
        onValue={setCode}
        error={faultAt(check.error, "/code") ?? (isWrong ? "The code is wrong." : undefined)}
      />
      <Problem error={check.error ?? cancel.error} />
      <div class="actions">
        <button type="submit" class="primary" disabled={isRunning}>
          {check.isRunning ? "Checking…" : "Check"}
        </button>
        <button type="button" disabled={isRunning} onClick={() => void cancel.run()}>
          Cancel the verification
        </button>
      </div>
    </form>
  );
}
