/** A message as the phone shows it: its file, its text, and the buttons or the list below. */
import type { components, Message } from "godwit-sdk";
import type { ComponentChildren, JSX } from "preact";
import { ContactCards, FormEntries, Original, Order, Place } from "./content-parts.tsx";
import { textBeside, type KnownContent } from "./content-summary.ts";
import { MediaView } from "./media-view.tsx";

type Schemas = components["schemas"];

type BubbleProps = {
  message: Pick<Message, "body" | "content">;
  /** The message that it quotes. */
  quoted?: ComponentChildren;
};

export function MessageBubble({ message: { body, content }, quoted }: BubbleProps): JSX.Element {
  if (content === null && quoted === undefined) return <p class="bubble">{body ?? <span class="quiet">No text</span>}</p>;
  return (
    <div class="bubble with-content">
      {quoted}
      {content === null ? <BubbleText>{body}</BubbleText> : <Content content={content} body={body} />}
    </div>
  );
}

const BubbleText = ({ children }: { children: string | null }): JSX.Element | null =>
  children === null || children === "" ? null : <p>{children}</p>;
const Footer = ({ children }: { children: string | null }): JSX.Element | null =>
  children === null ? null : <p class="bubble-footer">{children}</p>;

function Content({ content, body }: { content: KnownContent; body: string | null }): JSX.Element {
  switch (content.type) {
    case "media":
      return (
        <>
          {[content, ...(content.further_media ?? [])].map((file) => (
            <MediaView key={file.media_id} file={file} isVoice={file === content && content.is_voice} />
          ))}
          <BubbleText>{content.caption ?? textBeside(body)}</BubbleText>
        </>
      );
    case "buttons":
      return (
        <>
          {content.header !== null && <Header header={content.header} />}
          <BubbleText>{content.text}</BubbleText>
          <Footer>{content.footer}</Footer>
          <ButtonList buttons={content.buttons.map(({ title, url, phone_number: number }) => ({ title, about: url ?? number ?? null }))} />
        </>
      );
    case "list":
      return <List content={content} />;
    case "location":
      return <Place content={content} />;
    case "contacts":
      return <ContactCards contacts={content.contacts} />;
    case "reaction":
      return <p class="emoji">{content.emoji ?? <span class="quiet">Reaction removed</span>}</p>;
    case "template":
      return (
        <>
          {content.header !== null && <Header header={content.header} />}
          <BubbleText>{body}</BubbleText>
          <TemplateButtons buttons={content.buttons} />
        </>
      );
    case "reply":
      return <Reply content={content} />;
    case "form":
      return <FormEntries content={content} />;
    case "order":
      return <Order content={content} />;
    case "system":
      return <p class="quiet">{content.text ?? textBeside(body)}</p>;
    case "unsupported":
      return <Original label={`The console cannot show this content: ${content.kind}`} text={content.original} />;
    default:
      return <Original label="The console cannot show this content" text={JSON.stringify(content)} />;
  }
}

const Header = ({ header }: { header: Schemas["TextHeader"] | Schemas["MediaHeader"] }): JSX.Element =>
  header.type === "text" ? <p class="bubble-header">{header.text}</p> : <MediaView file={header} />;

/** The buttons below a text. Nothing happens when they are pressed here. `about`: where a button leads. */
const ButtonList = ({ buttons }: { buttons: readonly { title: string; about: string | null }[] }): JSX.Element => (
  <ul class="bubble-buttons" aria-label="Buttons">
    {buttons.map(({ title, about }, at) => (
      // oxlint-disable-next-line react/no-array-index-key -- Two buttons may have the same text.
      <li key={at}>
        {title}
        {about !== null && <span class="quiet">{about}</span>}
      </li>
    ))}
  </ul>
);

/** The buttons of a template are in the template. The message has the parts that it gave them. */
const TemplateButtons = ({ buttons }: { buttons: Schemas["TemplateContent"]["buttons"] }): JSX.Element | null =>
  buttons.length === 0 ? null : (
    <ButtonList
      buttons={buttons.map(({ index, url_suffix: suffix, payload }) => ({
        title: `Button ${index + 1}`,
        about: suffix === undefined ? `payload ${payload ?? ""}` : `URL ends with ${suffix}`,
      }))}
    />
  );

/** A list is closed until the person presses its button. */
const List = ({ content: { text, header, footer, button, sections } }: { content: Schemas["ListContent"] }): JSX.Element => (
  <>
    {header !== null && <p class="bubble-header">{header}</p>}
    <BubbleText>{text}</BubbleText>
    <Footer>{footer}</Footer>
    <details class="bubble-list">
      <summary>{button === "" ? "List" : button}</summary>
      {sections.map(({ title, rows }, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- Two sections may have the same title.
        <section key={at} aria-label={title ?? "Rows"}>
          {title !== null && <p class="strong">{title}</p>}
          <ul>
            {rows.map(({ id, title: row, description }) => (
              <li key={id} title={id}>
                {row}
                {description !== null && <span class="quiet">{description}</span>}
              </li>
            ))}
          </ul>
        </section>
      ))}
    </details>
  </>
);

const Reply = ({ content: { kind, id, title, description } }: { content: Schemas["ReplyContent"] }): JSX.Element => (
  <>
    <p>{title ?? id ?? <span class="quiet">No label</span>}</p>
    {description !== null && <p class="quiet">{description}</p>}
    <p class="bubble-footer">
      {kind === "list" ? "Row of a list" : "Button"}
      {id !== null && (
        <>
          {" "}
          · <code>{id}</code>
        </>
      )}
    </p>
  </>
);
