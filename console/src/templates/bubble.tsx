/** A message in the form in which the recipient sees it. */
import type { Template } from "godwit-sdk";
import type { JSX } from "preact";
import { words } from "../lib/format.ts";
import { kindLabel } from "../ui/content-summary.ts";
import { URL_VARIABLE } from "./template-draft.ts";

type BubbleProps = { header: string | null; headerMedia: string | null; body: string; footer: string | null; buttons: Template["buttons"] };

export const Bubble = ({ header, headerMedia, body, footer, buttons }: BubbleProps): JSX.Element => (
  <div class="template-bubble" role="group" aria-label="Message">
    {headerMedia !== null && (
      <p class="file-note">
        <strong>{kindLabel(headerMedia)}</strong> of each message
      </p>
    )}
    {header !== null && <p class="template-bubble-header">{header}</p>}
    <p>{body}</p>
    {footer !== null && <p class="template-bubble-footer">{footer}</p>}
    {buttons !== null && buttons.length > 0 && (
      <ul aria-label="Buttons">
        {buttons.map(({ type, text, url, phone_number: phoneNumber }, at) => (
          // oxlint-disable-next-line react/no-array-index-key -- Two buttons may have the same text.
          <li key={at} title={url ?? phoneNumber ?? words(type)}>
            {text}
            {url?.endsWith(URL_VARIABLE) === true && <span class="quiet">{url}</span>}
          </li>
        ))}
      </ul>
    )}
  </div>
);
