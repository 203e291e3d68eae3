/** The fields of a content that is more than a text: a file, buttons, a list or a place. */
import type { JSX } from "preact";
import { nextKey, type ContentButton, type ContentKind, type SectionDraft } from "../messages/content-draft.ts";
import type { Draft } from "../messages/draft.ts";
import { Field, SelectField, TextField } from "../ui/field.tsx";
import { FileFields } from "./file-fields.tsx";

type FieldsProps = { draft: Draft; faultOf: (pointer: string) => string | undefined; onChange: (change: Partial<Draft>) => void };

export function ContentFields({ kind, ...props }: FieldsProps & { kind: ContentKind }): JSX.Element {
  const fault = props.faultOf("/content");
  return (
    <>
      {fault !== undefined && <p class="fault">This content {fault}.</p>}
      {kind === "media" && <MediaFields {...props} />}
      {kind === "buttons" && <ButtonsFields {...props} />}
      {kind === "list" && <ListFields {...props} />}
      {kind === "location" && <LocationFields {...props} />}
      {kind === "copied" && <p class="hint">The content of an earlier message, which this form cannot change.</p>}
    </>
  );
}

function MediaFields({ draft, faultOf, onChange }: FieldsProps): JSX.Element {
  return (
    <>
      <FileFields
        file={draft.file}
        pointer="/content"
        faultOf={(pointer) => (pointer === "/content" ? undefined : faultOf(pointer))}
        onFile={(file) => onChange({ file })}
      />
      <Field label="Caption" isOptional error={faultOf("/content/caption")}>
        {(control) => (
          <textarea
            {...control}
            class="short"
            rows={2}
            value={draft.caption}
            onInput={({ currentTarget }) => onChange({ caption: currentTarget.value })}
          />
        )}
      </Field>
    </>
  );
}

/** The texts of buttons and lists. */
function Texts({ draft, faultOf, onChange }: FieldsProps): JSX.Element {
  return (
    <>
      <TextField
        label="Header"
        isOptional
        value={draft.header}
        onValue={(header) => onChange({ header })}
        error={faultOf("/content/header") ?? faultOf("/content/header/text")}
      />
      <Field label="Text" error={faultOf("/content/text")}>
        {(control) => (
          <textarea {...control} rows={4} value={draft.text} onInput={({ currentTarget }) => onChange({ text: currentTarget.value })} />
        )}
      </Field>
      <TextField
        label="Footer"
        isOptional
        value={draft.footer}
        onValue={(footer) => onChange({ footer })}
        error={faultOf("/content/footer")}
      />
    </>
  );
}

const MAX_BUTTONS = 3;
const MAX_ROWS = 10;

/** Replaces the item with the key of `changed`. */
const withItem = <Item extends { key: number }>(items: readonly Item[], changed: Item): Item[] =>
  items.map((item) => (item.key === changed.key ? changed : item));
const withoutItem = <Item extends { key: number }>(items: readonly Item[], gone: Item): Item[] =>
  items.filter(({ key }) => key !== gone.key);

function ButtonsFields(props: FieldsProps): JSX.Element {
  const { draft, faultOf, onChange } = props;
  const { buttons } = draft;
  const add = (): void => {
    const key = nextKey(buttons);
    onChange({ buttons: [...buttons, { key, type: "reply", title: "", target: `button_${key + 1}` }] });
  };
  const fault = faultOf("/content/buttons");
  return (
    <>
      <Texts {...props} />
      <fieldset class="stack">
        <legend class="field-legend">Buttons</legend>
        {fault !== undefined && <p class="fault">{fault}</p>}
        {buttons.map((button, at) => (
          <ButtonRow
            key={button.key}
            at={at}
            button={button}
            faultOf={faultOf}
            onButton={(changed) => onChange({ buttons: withItem(buttons, changed) })}
            onRemove={buttons.length === 1 ? undefined : () => onChange({ buttons: withoutItem(buttons, button) })}
          />
        ))}
        <div class="actions">
          <button type="button" class="small" onClick={add} disabled={buttons.length >= MAX_BUTTONS}>
            Add a button
          </button>
          <span class="hint">Up to 3 quick replies, or 1 button that opens a URL.</span>
        </div>
      </fieldset>
    </>
  );
}

type ButtonRowProps = {
  at: number;
  button: ContentButton;
  faultOf: FieldsProps["faultOf"];
  onButton: (button: ContentButton) => void;
  onRemove: (() => void) | undefined;
};

function ButtonRow({ at, button, faultOf, onButton, onRemove }: ButtonRowProps): JSX.Element {
  const { key, type, title, target } = button;
  const fault = (name: string): string | undefined => faultOf(`/content/buttons/${at}/${name}`);
  const isUrl = type === "url";
  return (
    <div class="button-row" role="group" aria-label={`Button ${at + 1}`}>
      <SelectField
        label="Type"
        value={type}
        onValue={(value) => onButton({ ...button, type: value, target: value === "url" ? "" : `button_${key + 1}` })}
        options={[
          ["reply", "quick reply"],
          ["url", "URL"],
        ]}
        error={fault("type")}
      />
      <TextField label="Label" value={title} onValue={(value) => onButton({ ...button, title: value })} error={fault("title")} />
      <TextField
        label={isUrl ? "URL" : "Id"}
        type={isUrl ? "url" : "text"}
        value={target}
        onValue={(value) => onButton({ ...button, target: value })}
        error={fault(isUrl ? "url" : "id")}
      />
      {onRemove !== undefined && (
        <button type="button" class="small" onClick={onRemove} aria-label={`Remove button ${at + 1}`}>
          Remove
        </button>
      )}
    </div>
  );
}

function ListFields(props: FieldsProps): JSX.Element {
  const { draft, faultOf, onChange } = props;
  const { sections } = draft;
  const rows = sections.reduce((count, section) => count + section.rows.length, 0);
  // Ids of rows are unique in the whole list.
  const newRow = (key: number): SectionDraft["rows"][number] => ({ key, id: `row_${freeNumber(sections)}`, title: "", description: "" });
  const fault = faultOf("/content/sections");
  return (
    <>
      <Texts {...props} />
      <TextField
        label="Label of the button"
        hint="It opens the list."
        value={draft.listButton}
        onValue={(listButton) => onChange({ listButton })}
        error={faultOf("/content/button")}
      />
      {fault !== undefined && <p class="fault">{fault}</p>}
      {sections.map((section, at) => (
        <Section
          key={section.key}
          at={at}
          section={section}
          isOnly={sections.length === 1}
          isFull={rows >= MAX_ROWS}
          faultOf={faultOf}
          onSection={(changed) => onChange({ sections: withItem(sections, changed) })}
          onAdd={() => onChange({ sections: withItem(sections, { ...section, rows: [...section.rows, newRow(nextKey(section.rows))] }) })}
          onRemove={() => onChange({ sections: withoutItem(sections, section) })}
        />
      ))}
      <div class="actions">
        <button
          type="button"
          class="small"
          disabled={rows >= MAX_ROWS}
          onClick={() => onChange({ sections: [...sections, { key: nextKey(sections), title: "", rows: [newRow(0)] }] })}
        >
          Add a section
        </button>
        <span class="hint">Up to 10 rows in all sections together.</span>
      </div>
    </>
  );
}

/** The first number whose id no row has. */
function freeNumber(sections: readonly SectionDraft[]): number {
  const ids = new Set(sections.flatMap(({ rows }) => rows.map(({ id }) => id)));
  let number = ids.size + 1;
  while (ids.has(`row_${number}`)) number += 1;
  return number;
}

type SectionProps = {
  at: number;
  section: SectionDraft;
  isOnly: boolean;
  isFull: boolean;
  faultOf: FieldsProps["faultOf"];
  onSection: (section: SectionDraft) => void;
  onAdd: () => void;
  onRemove: () => void;
};

function Section({ at, section, isOnly, isFull, faultOf, onSection, onAdd, onRemove }: SectionProps): JSX.Element {
  const { title, rows } = section;
  const pointer = `/content/sections/${at}`;
  return (
    <fieldset class="stack">
      <legend class="field-legend">Section {at + 1}</legend>
      <TextField
        label="Title of the section"
        isOptional={isOnly}
        value={title}
        onValue={(value) => onSection({ ...section, title: value })}
        error={faultOf(`${pointer}/title`)}
      />
      {rows.map((row, place) => {
        const fault = (name: string): string | undefined => faultOf(`${pointer}/rows/${place}/${name}`);
        const set = (change: Partial<typeof row>): void => onSection({ ...section, rows: withItem(rows, { ...row, ...change }) });
        return (
          <div key={row.key} class="button-row list-row" role="group" aria-label={`Row ${place + 1} of section ${at + 1}`}>
            <TextField label="Title" value={row.title} onValue={(value) => set({ title: value })} error={fault("title")} />
            <TextField label="Id" value={row.id} onValue={(id) => set({ id })} error={fault("id")} />
            <TextField
              label="Description"
              isOptional
              value={row.description}
              onValue={(description) => set({ description })}
              error={fault("description")}
            />
            {rows.length > 1 && (
              <button
                type="button"
                class="small"
                onClick={() => onSection({ ...section, rows: withoutItem(rows, row) })}
                aria-label={`Remove row ${place + 1} of section ${at + 1}`}
              >
                Remove
              </button>
            )}
          </div>
        );
      })}
      <div class="actions">
        <button type="button" class="small" onClick={onAdd} disabled={isFull}>
          Add a row
        </button>
        {!isOnly && (
          <button type="button" class="small" onClick={onRemove}>
            Remove section {at + 1}
          </button>
        )}
      </div>
    </fieldset>
  );
}

function LocationFields({ draft, faultOf, onChange }: FieldsProps): JSX.Element {
  return (
    <div class="field-row">
      <TextField
        label="Latitude"
        placeholder="52.5163"
        value={draft.latitude}
        onValue={(latitude) => onChange({ latitude })}
        error={faultOf("/content/latitude")}
      />
      <TextField
        label="Longitude"
        placeholder="13.3777"
        value={draft.longitude}
        onValue={(longitude) => onChange({ longitude })}
        error={faultOf("/content/longitude")}
      />
      <TextField
        label="Name of the place"
        isOptional
        value={draft.placeName}
        onValue={(placeName) => onChange({ placeName })}
        error={faultOf("/content/name")}
      />
      <TextField
        label="Address"
        isOptional
        value={draft.address}
        onValue={(address) => onChange({ address })}
        error={faultOf("/content/address")}
      />
    </div>
  );
}
