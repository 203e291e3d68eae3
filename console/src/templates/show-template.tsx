/** A template that this key cannot change, or that is archived: its content and a preview. */
import type { Template } from "godwit-sdk";
import type { JSX } from "preact";
import { words } from "../lib/format.ts";
import { kindLabel } from "../ui/content-summary.ts";
import { Facts } from "../ui/facts.tsx";
import { toPlaceholder } from "./placeholders.ts";
import { PreviewCard } from "./template-preview.tsx";

export function ShowTemplate({ template }: { template: Template }): JSX.Element {
  const { language, category, channels, header, header_media: media, footer } = template;
  const body = <span class="as-typed">{template.body}</span>;
  const buttons = <Buttons of={template} />;
  const variables = <Variables of={template} />;
  return (
    <div class="columns wide-first">
      <section class="card" aria-label="Content">
        <h2>Content</h2>
        <Facts
          rows={[
            ["Language", language],
            ["Category", category],
            ["Channels", channels.join(", ")],
            ["File above the text", media !== null && kindLabel(media)],
            ["Header", header],
            ["Body", body],
            ["Footer", footer],
            ["Buttons", buttons],
            ["Variables", variables],
          ]}
        />
      </section>
      <PreviewCard template={template} />
    </div>
  );
}

const Buttons = ({ of: { buttons } }: { of: Template }): JSX.Element =>
  buttons === null || buttons.length === 0 ? (
    <span class="quiet">none</span>
  ) : (
    <ul class="template-list">
      {buttons.map(({ type, text, url, phone_number: phoneNumber }, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- Two buttons may have the same text.
        <li key={at}>
          {text} <span class="quiet">{[words(type), url ?? phoneNumber].filter((part) => part !== null).join(" ")}</span>
        </li>
      ))}
    </ul>
  );

const Variables = ({ of: { variables } }: { of: Template }): JSX.Element =>
  variables.length === 0 ? (
    <span class="quiet">none</span>
  ) : (
    <ul class="template-list">
      {variables.map(({ name, example }) => (
        <li key={name}>
          <code>{toPlaceholder(name)}</code> {example !== null && <span class="quiet">such as {example}</span>}
        </li>
      ))}
    </ul>
  );
