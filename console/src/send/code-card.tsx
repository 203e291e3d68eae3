/** The request of the form as code. */
import type { NewMessage } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Code } from "../ui/copy.tsx";
import { toCurl, toPython, toTypeScript } from "./code-samples.ts";

const KINDS = { curl: toCurl, TypeScript: toTypeScript, Python: toPython } as const;
type Kind = keyof typeof KINDS;

export function CodeCard({ request, idempotencyKey }: { request: NewMessage; idempotencyKey: string }): JSX.Element {
  const [kind, setKind] = useState<Kind>("curl");
  return (
    <section class="card" aria-label="Code sample">
      <div class="card-head">
        <h2>Code sample</h2>
        <div class="tabs" role="group" aria-label="Language">
          {(Object.keys(KINDS) as Kind[]).map((one) => (
            <button key={one} type="button" class="small" aria-pressed={one === kind} onClick={() => setKind(one)}>
              {one}
            </button>
          ))}
        </div>
      </div>
      <Code label={kind} text={KINDS[kind](location.origin, request, idempotencyKey)} />
    </section>
  );
}
