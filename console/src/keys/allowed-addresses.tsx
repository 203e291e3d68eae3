/** The form field for the addresses from which a key can be used. */
import { ApiError } from "godwit-sdk";
import type { JSX } from "preact";
import { Field } from "../ui/field.tsx";

/** Splits the text into its CIDR blocks: one per line, or separated by commas. */
export const toBlocks = (text: string): string[] => text.split(/[\s,]+/).filter((block) => block !== "");

type AllowedAddressesProps = {
  value: string;
  onValue: (value: string) => void;
  error: unknown;
  /** The blocks of the request that `error` is about. The text may have changed since. */
  sent: readonly string[];
};

export const AllowedAddresses = ({ value, onValue, error, sent }: AllowedAddressesProps): JSX.Element => (
  <Field
    label="Allowed addresses"
    isOptional
    hint="Addresses or CIDR blocks such as 192.0.2.0/24, one per line or separated by commas. Defaults to the addresses of the key that creates it."
    error={blocksFault(error, sent)}
  >
    {(control) => (
      <textarea {...control} rows={2} spellcheck={false} value={value} onInput={({ currentTarget }) => onValue(currentTarget.value)} />
    )}
  </Field>
);

const POINTER = /^\/allowed_ips(?:\/(\d+))?$/;

/** The faults of all blocks, each with its block. */
function blocksFault(error: unknown, sent: readonly string[]): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const faults = error.errors.flatMap((fault) => {
    const found = POINTER.exec("pointer" in fault ? fault.pointer : "");
    if (found === null) return [];
    const block = sent[Number(found[1])];
    return [block === undefined || fault.detail.includes(block) ? fault.detail : `${block} ${fault.detail}`];
  });
  return faults.length === 0 ? undefined : faults.join(". ");
}
