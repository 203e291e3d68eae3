/** An error code as a link to its documentation, which opens in a new tab, so that the page keeps its state. */
import type { JSX } from "preact";

const DocsLink = ({ href, code }: { href: string; code: string }): JSX.Element => (
  <a class="error-code" href={href} target="_blank" rel="noreferrer">
    {/* The code can break after an underscore. */}
    {code.split("_").flatMap((part, at) => (at === 0 ? [part] : ["_", <wbr key={part} />, part]))}
  </a>
);

/** The code of a refused or failed API request. */
export const ErrorCode = ({ code }: { code: string }): JSX.Element => <DocsLink href={`/errors/${code}`} code={code} />;

/** The error code of a message. Carriers may report codes of their own, so these codes share one page. */
export const MessageErrorCode = ({ code }: { code: string }): JSX.Element => (
  <DocsLink href="/docs/states#error-codes-of-messages" code={code} />
);
