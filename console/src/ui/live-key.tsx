/** How to get a key of `live`: carriers exist there only, and a session belongs to one environment. */
import type { JSX } from "preact";
import { useSession } from "../session/use-session.ts";
import { Code } from "./copy.tsx";

export function LiveKey(): JSX.Element {
  const { accountId } = useSession().identity;
  const options = `keys create --environment live --name console --account ${accountId} --scopes all`;
  return (
    <div class="stack">
      <p>Create a key on the machine of the service, in the folder of its source code:</p>
      <Code label="Create a live key" text={`npm run --silent godwit -- ${options}`} />
      <p>
        With the npm package, write <code>npx godwit</code> instead of <code>npm run --silent godwit --</code>; with Docker Compose,{" "}
        <code>docker compose exec godwit-1 godwit</code>. Then sign out, and sign in with the new key.
      </p>
    </div>
  );
}
