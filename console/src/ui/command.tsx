/** A command of the `godwit` program, in the form for each kind of installation. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Code } from "./copy.tsx";

const PROGRAMS = {
  Checkout: "npm run --silent godwit --",
  "npm package": "npx godwit",
  Container: "docker compose exec godwit-1 godwit",
} as const;
type Installation = keyof typeof PROGRAMS;

export function Command({ label, args }: { label: string; args: string }): JSX.Element {
  const [chosen, setChosen] = useState<Installation>("Checkout");
  return (
    <div class="command">
      <div class="tabs" role="group" aria-label="Installation">
        {(Object.keys(PROGRAMS) as Installation[]).map((each) => (
          <button key={each} type="button" class="small" aria-pressed={each === chosen} onClick={() => setChosen(each)}>
            {each}
          </button>
        ))}
      </div>
      <Code label={label} text={`${PROGRAMS[chosen]} ${args}`} />
    </div>
  );
}
