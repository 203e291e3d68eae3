/** Follows the message that was just sent. */
import type { JSX } from "preact";
import { Link } from "../lib/router.tsx";
import { Timeline } from "../messages/timeline.tsx";
import { isFinal, useMessage } from "../messages/use-message.ts";
import { useMay } from "../session/use-session.ts";
import { Loaded } from "../ui/page.tsx";
import { Status } from "../ui/status.tsx";

export function FollowedMessage({ id }: { id: string }): JSX.Element {
  const mayRead = useMay("messages:read");
  const { message, timeline } = useMessage(mayRead ? id : null);
  return (
    <section class="card" aria-label="The message you sent">
      <div class="card-head">
        <h2>The message you sent</h2>
        {message.data !== undefined && (
          <p role="status">
            <Status of={message.data.status} /> {!isFinal(message.data) && <span class="quiet">following…</span>}
          </p>
        )}
      </div>
      {mayRead ? (
        <>
          <Loaded resource={timeline} lines={3}>
            {(entries) => <Timeline entries={entries} />}
          </Loaded>
          <p>
            <Link to={`messages/${id}`}>Open {id}</Link>
          </p>
        </>
      ) : (
        <p>
          It was accepted as <code>{id}</code>. To follow it, the key needs the scope <code>messages:read</code>.
        </p>
      )}
    </section>
  );
}
