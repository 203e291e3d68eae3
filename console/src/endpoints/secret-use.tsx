/** What a secret is for. The page about it opens beside this one, which shows the secret. */
import type { JSX } from "preact";

export const SecretUse = (): JSX.Element => (
  <p class="quiet">
    Deliveries are signed by it:{" "}
    <a href="/docs/webhooks#verifying" target="_blank" rel="noreferrer">
      how to verify them
    </a>
    .
  </p>
);
