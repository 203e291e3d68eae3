/** A preview of what is typed, with the examples filled in. */
import type { JSX } from "preact";
import { Bubble } from "./bubble.tsx";
import { fillPlaceholders } from "./placeholders.ts";
import { isOnWhatsapp, type Draft } from "./template-draft.ts";

export function DraftPreview({ draft }: { draft: Draft }): JSX.Element {
  const { header, body, footer, buttons, examples } = draft;
  const isForWhatsapp = isOnWhatsapp(draft);
  const shownButtons = buttons.map(({ type, text }) => ({ type, text, url: null, phone_number: null }));
  return (
    <section class="card template-preview" aria-label="Preview">
      <h2>Preview</h2>
      {body.trim() === "" ? (
        <p class="quiet">The text with its examples appears here.</p>
      ) : (
        <Bubble
          header={isForWhatsapp && header !== "" ? fillPlaceholders(header, examples) : null}
          body={fillPlaceholders(body, examples)}
          footer={isForWhatsapp && footer !== "" ? footer : null}
          buttons={isForWhatsapp ? shownButtons : null}
        />
      )}
    </section>
  );
}
