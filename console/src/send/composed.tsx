/** The text of the message with its segments and encoding. Characters that force UCS-2 are marked. */
import type { Content, MessageValidation } from "godwit-sdk";
import type { JSX } from "preact";
import { plural } from "../lib/format.ts";
import { CarrierName } from "../ui/carrier-name.tsx";
import { MessageBubble } from "../ui/message-content.tsx";
import { Segments } from "../ui/segments.tsx";

type ComposedProps = {
  validation: MessageValidation;
  /** The content of the form, if it is more than a text. */
  content: Content | null;
  /** Receives a function that replaces characters. The caller applies it to the current text. */
  onReplace: ((replace: (text: string) => string) => void) | undefined;
};

export function Composed({ validation, content, onReplace }: ComposedProps): JSX.Element | null {
  const { body, segments, ucs2_characters: offending, route } = validation;
  if (content === null && (body === null || body === "")) return null;
  const alternatives = findAlternatives(offending);
  return (
    <div class="stack composed" role="group" aria-label="Preview">
      {content === null ? (
        <p class="bubble">
          <MarkedText text={body ?? ""} offending={offending} />
        </p>
      ) : (
        <MessageBubble message={{ body: content.type === "template" ? body : null, content }} />
      )}
      {segments !== null && (
        <p role="status">
          <Segments of={segments} />
          {route !== null && (
            <span class="quiet">
              {" "}
              · via <CarrierName id={route.link} />
            </span>
          )}
        </p>
      )}
      {offending.length > 0 && (
        <div class="notice">
          <p>
            {plural(offending.length, "character")} marked above {offending.length === 1 ? "is" : "are"} not in the GSM alphabet, so a
            segment holds 70 characters instead of 160.
          </p>
          {onReplace !== undefined && alternatives.size > 0 && (
            <button type="button" class="small" onClick={() => onReplace((text) => replaceCharacters(text, alternatives))}>
              Use GSM characters
            </button>
          )}
        </div>
      )}
    </div>
  );
}

type Offending = MessageValidation["ucs2_characters"];

/** Marks the characters in the text. Positions count code points, as in the API. */
function MarkedText({ text, offending }: { text: string; offending: Offending }): JSX.Element {
  const characters = [...text];
  const pieces: JSX.Element[] = [];
  let from = 0;
  for (const { position, character, alternative } of offending) {
    pieces.push(<span key={`t${from}`}>{characters.slice(from, position).join("")}</span>);
    const title = alternative === null ? "Not in the GSM alphabet" : `Not in the GSM alphabet; alternative:  ${alternative}`;
    pieces.push(
      <mark key={`m${position}`} title={title}>
        {character}
      </mark>,
    );
    from = position + [...character].length;
  }
  pieces.push(<span key={`t${from}`}>{characters.slice(from).join("")}</span>);
  return <>{pieces}</>;
}

const findAlternatives = (offending: Offending): ReadonlyMap<string, string> =>
  new Map(offending.flatMap(({ character, alternative }): [string, string][] => (alternative === null ? [] : [[character, alternative]])));

const replaceCharacters = (text: string, alternatives: ReadonlyMap<string, string>): string =>
  Array.from(text, (character) => alternatives.get(character) ?? character).join("");
