/** A preview of what is typed, with the examples filled in. */
import type { JSX } from "preact";
import { Bubble } from "./bubble.tsx";
import { fillPlaceholders } from "./placeholders.ts";
import { headerText, isOnWhatsapp, type Draft } from "./template-draft.ts";

export function DraftPreview({ draft }: { draft: Draft }): JSX.Element {
  const { headerMedia, body, footer, buttons, examples } = draft;
  const header = headerText(draft);
  const isForWhatsapp = isOnWhatsapp(draft);
  const shownButtons = buttons.map(({ type, text, target }) => ({
    type,
    text,
    url: type === "url" ? target.trim() : null,
    phone_number: null,
  }));
  return (
    <section class="card template-preview" aria-label="Preview">
      <h2>Preview</h2>
      {body.trim() === "" ? (
        <p class="quiet">The text with its examples appears here.</p>
      ) : (
        <Bubble
          header={header === "" ? null : fillPlaceholders(header, examples)}
          headerMedia={isForWhatsapp && headerMedia !== "" ? headerMedia : null}
          body={fillPlaceholders(body, examples)}
          footer={isForWhatsapp && footer !== "" ? footer : null}
          buttons={isForWhatsapp ? shownButtons : null}
        />
      )}
    </section>
  );
}
