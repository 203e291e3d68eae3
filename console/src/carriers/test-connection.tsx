/** Tests the connection of a carrier, and shows what is wrong with it. */
import type { Link, LinkTest } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { useApi } from "../session/use-session.ts";
import { Ago } from "../ui/moment.tsx";
import { Problem } from "../ui/problem.tsx";

const STEPS: Readonly<Record<string, string>> = {
  address: "The host has no usable address",
  connection: "The carrier cannot be reached",
  tls: "The connection is not secure",
  credentials: "The carrier refuses the credentials",
  response: "The carrier does not respond as expected",
};

export function TestConnection({ link, onTested }: { link: Link; onTested: () => void }): JSX.Element {
  const api = useApi();
  const [result, setResult] = useState<LinkTest | undefined>(undefined);
  const action = useAction(async () => {
    setResult(undefined);
    setResult(await api.links.test(link.id, { maxRetries: 0 }));
    onTested();
  });
  // The result of a test says nothing about settings that have changed since.
  const isCurrent = result !== undefined && (link.updated_at === null || result.tested_at >= link.updated_at);
  return (
    <section class="card stack" aria-label="Connection">
      <div class="card-head">
        <h2>Connection</h2>
        <button type="button" class="primary" disabled={action.isRunning} onClick={() => void action.run()}>
          {action.isRunning ? "Testing…" : "Test connection"}
        </button>
      </div>
      <div role="status">
        {isCurrent ? (
          <TestResult of={result} />
        ) : (
          <p class="quiet">The test connects to the carrier and signs in. It sends no message, and takes up to 15 seconds.</p>
        )}
      </div>
      <Problem error={action.error} />
    </section>
  );
}

const TestResult = ({ of: { ok, step, detail, tested_at: at } }: { of: LinkTest }): JSX.Element => (
  <div class={ok ? "notice" : "notice bad"}>
    <p>
      <strong>{ok ? "The connection works." : `${STEPS[step ?? ""] ?? "The test failed"}.`}</strong> {detail}
    </p>
    <p class="quiet">
      Tested <Ago iso={at} />
    </p>
  </div>
);
