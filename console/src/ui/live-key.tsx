/** How to get a key of `live`: carriers exist there only, and a session belongs to one environment. */
import type { JSX } from "preact";
import { useSession } from "../session/use-session.ts";
import { Command } from "./command.tsx";

export function LiveKey(): JSX.Element {
  const { accountId } = useSession().identity;
  return (
    <div class="stack">
      <p>Create a key on the machine of the service:</p>
      <Command label="Create a live key" args={`keys create --environment live --name console --account ${accountId} --scopes all`} />
      <p>Then press “Add a key” in the menu, and enter the new key.</p>
    </div>
  );
}
