/** Texts with a copy button: ids, code, and secrets that are shown once. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }): JSX.Element {
  const [notice, setNotice] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (notice === undefined) return undefined;
    const timer = setTimeout(() => setNotice(undefined), 2_000);
    return () => clearTimeout(timer);
  }, [notice]);
  const copy = async (): Promise<void> => setNotice((await copyText(text)) ? "Copied" : "Press Ctrl+C");
  return (
    <button type="button" class="small" onClick={() => void copy()} aria-live="polite">
      {notice ?? label}
    </button>
  );
}

/** Copies a text to the clipboard. Returns false if the browser refuses, as it does for plain HTTP from another machine. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export const Code = ({ text, label }: { text: string; label: string }): JSX.Element => (
  <div class="code">
    <pre tabIndex={0} aria-label={label}>
      <code>{text}</code>
    </pre>
    <CopyButton text={text} />
  </div>
);

/** A secret that is shown only once. */
export const Secret = ({ what, text }: { what: string; text: string }): JSX.Element => (
  <div class="secret">
    <p>
      <strong>Copy the {what} now.</strong> It is shown only once, and the browser does not store it.
    </p>
    <Code label={what} text={text} />
  </div>
);
