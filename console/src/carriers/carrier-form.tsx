/** The form fields of a carrier, for its creation and for changes. */
import type { JSX } from "preact";
import { Field, TextField } from "../ui/field.tsx";
import { faultAt } from "../ui/problem.tsx";
import { AdvancedFields } from "./advanced-fields.tsx";
import { pointerOf, type Draft } from "./carrier-draft.ts";
import type { Carrier, CarrierField } from "./carrier-fields.ts";

export type CarrierFormProps = {
  carrier: Carrier;
  draft: Draft;
  onChange: (change: Partial<Draft>) => void;
  error: unknown;
  /** The names of the secrets that are set already, and that stay if their fields are empty. */
  kept: readonly string[];
};

export function CarrierForm({ carrier, draft, onChange, error, kept }: CarrierFormProps): JSX.Element {
  const onValue = (name: string, value: string): void => onChange({ values: { ...draft.values, [name]: value } });
  return (
    <>
      <TextField
        label="Name"
        hint="Shown in the console. Choose any name, such as the carrier and the account."
        value={draft.name}
        onValue={(name) => onChange({ name })}
        error={faultAt(error, "/name")}
      />
      {carrier.fields.map((field) => (
        <SettingField
          key={field.name}
          field={field}
          value={draft.values[field.name] ?? ""}
          onValue={(value) => onValue(field.name, value)}
          error={faultAt(error, pointerOf(field.name))}
          isKept={kept.includes(field.name.replace("secrets.", ""))}
        />
      ))}
      {carrier.hasCountry === true && (
        <TextField
          label="Country"
          isOptional
          hint="Two letters, such as DE: the country of numbers that the carrier writes without +. STOP replies need it."
          placeholder="DE"
          value={draft.country}
          onValue={(country) => onChange({ country })}
          error={faultAt(error, "/country")}
        />
      )}
      <AdvancedFields isHttp={carrier.isHttp === true} draft={draft} onChange={onChange} error={error} />
    </>
  );
}

type SettingProps = {
  field: CarrierField;
  value: string;
  onValue: (value: string) => void;
  error: string | undefined;
  isKept: boolean;
};

function SettingField({ field, value, onValue, error, isKept }: SettingProps): JSX.Element {
  const { label, help, kind, isOptional = false, placeholder = "" } = field;
  if (kind === "flag") return <FlagField label={label} hint={help} value={value} onValue={onValue} error={error} />;
  if (kind === "secret") return <SecretField label={label} hint={help} value={value} onValue={onValue} error={error} isKept={isKept} />;
  const type = kind === "number" ? "number" : kind === "origin" ? "url" : "text";
  return (
    <TextField
      label={label}
      hint={help}
      type={type}
      isOptional={isOptional}
      placeholder={placeholder}
      value={value}
      onValue={onValue}
      error={error}
    />
  );
}

type InputProps = { label: string; hint: string; value: string; onValue: (value: string) => void; error: string | undefined };

const SecretField = ({ value, onValue, isKept, ...field }: InputProps & { isKept: boolean }): JSX.Element => (
  <Field {...field}>
    {(control) => (
      <input
        {...control}
        type="password"
        autoComplete="new-password"
        spellcheck={false}
        // A fault means that the stored secret is not enough, as after a change of the host.
        placeholder={isKept && field.error === undefined ? "set: leave it empty to keep it" : ""}
        value={value}
        onInput={({ currentTarget }) => onValue(currentTarget.value)}
      />
    )}
  </Field>
);

const FlagField = ({ value, onValue, ...field }: InputProps): JSX.Element => (
  <Field {...field}>
    {(control) => (
      <input
        {...control}
        type="checkbox"
        checked={value === "true"}
        onChange={({ currentTarget }) => onValue(currentTarget.checked ? "true" : "")}
      />
    )}
  </Field>
);
