/** A form field: label, control, hint and fault, connected for screen readers. */
import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import { INCOMPLETE } from "../lib/format.ts";

type ControlProps = { id: string; "aria-describedby": string | undefined; "aria-invalid": true | undefined };

type FieldProps = {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  isOptional?: boolean;
  /** Receives the attributes that connect the control to its label. Spread them on the control. */
  children: (control: ControlProps) => ComponentChildren;
};

export function Field({ label, hint, error, isOptional = false, children }: FieldProps): JSX.Element {
  const id = useId();
  const [hintId, errorId] = [`${id}-hint`, `${id}-error`];
  const described = [hint === undefined ? "" : hintId, error === undefined ? "" : errorId].filter((part) => part !== "").join(" ");
  return (
    <div class={error === undefined ? "field" : "field wrong"}>
      <label for={id}>
        {label} {isOptional && <span class="quiet">optional</span>}
      </label>
      {children({
        id,
        "aria-describedby": described === "" ? undefined : described,
        "aria-invalid": error === undefined ? undefined : true,
      })}
      {error !== undefined && (
        <p class="fault" id={errorId}>
          {error}
        </p>
      )}
      {hint !== undefined && (
        <p class="hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
  );
}

type TextProps = Omit<FieldProps, "children"> & {
  value: string;
  onValue: (value: string) => void;
  type?: "text" | "url" | "tel" | "number" | "datetime-local" | "date" | "search";
  placeholder?: string;
  /** The id of a `<datalist>` on the page. */
  list?: string;
};

// Browsers accept years with six digits.
const LATEST: Readonly<Partial<Record<NonNullable<TextProps["type"]>, string>>> = {
  "datetime-local": "9999-12-31T23:59",
  date: "9999-12-31",
};

export const TextField = ({ value, onValue, type = "text", placeholder, list, error, ...field }: TextProps): JSX.Element => (
  <Field {...field} error={value === INCOMPLETE ? "The date is not complete." : error}>
    {(control) => (
      <input
        {...control}
        type={type}
        max={LATEST[type]}
        placeholder={placeholder}
        list={list}
        autoComplete="off"
        spellcheck={false}
        // An incomplete date stays in the field.
        value={value === INCOMPLETE ? undefined : value}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
        onBlur={({ currentTarget }) => currentTarget.validity.badInput && onValue(INCOMPLETE)}
      />
    )}
  </Field>
);

type SelectProps = Omit<FieldProps, "children"> & {
  value: string;
  onValue: (value: string) => void;
  options: readonly (readonly [value: string, label: string])[];
};

export const SelectField = ({ value, onValue, options, ...field }: SelectProps): JSX.Element => (
  <Field {...field}>
    {(control) => (
      <select {...control} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {options.map(([option, label]) => (
          <option key={option} value={option}>
            {label}
          </option>
        ))}
      </select>
    )}
  </Field>
);

// The boxes of a long list may be outside the visible area.
const scrollTo = (fault: HTMLElement | null): void => fault?.scrollIntoView({ block: "center" });

/** A group of checkboxes. */
export function CheckList({
  legend,
  options,
  descriptions,
  chosen,
  onChosen,
  error,
}: {
  legend: string;
  options: readonly string[];
  /** The meanings of the options, by their names. */
  descriptions?: Readonly<Record<string, string>>;
  chosen: readonly string[];
  onChosen: (chosen: string[]) => void;
  error?: string | undefined;
}): JSX.Element {
  const toggle = (option: string): void =>
    onChosen(chosen.includes(option) ? chosen.filter((other) => other !== option) : [...chosen, option]);
  return (
    <fieldset class="checks">
      <legend>{legend}</legend>
      <div>
        {options.map((option) => (
          <label key={option}>
            <input type="checkbox" checked={chosen.includes(option)} onChange={() => toggle(option)} />{" "}
            <span>
              {option}
              {descriptions?.[option] !== undefined && <span class="hint described"> {descriptions[option]}</span>}
            </span>
          </label>
        ))}
      </div>
      {error !== undefined && (
        <p class="fault" role="alert" ref={scrollTo}>
          {error}
        </p>
      )}
    </fieldset>
  );
}
