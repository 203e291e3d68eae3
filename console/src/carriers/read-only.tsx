/** The notice of pages that the key can only read. */
import type { JSX } from "preact";

export const ReadOnly = (): JSX.Element => (
  <p class="notice">
    <span>
      You can see carriers, but not change them: your key lacks the scope <code>links:write</code>.
    </span>
  </p>
);
