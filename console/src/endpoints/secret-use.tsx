/** Explains the use of a secret. The documentation opens in a new tab, because this page shows the secret only once. */
import type { JSX } from "preact";

export const SecretUse = (): JSX.Element => (
  <p class="quiet">
    Deliveries are signed with it:{" "}
    <a href="/docs/webhooks#verify-signatures" target="_blank" rel="noreferrer">
      how to verify them
    </a>
    .
  </p>
);
