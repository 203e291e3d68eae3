/** The form fields for the scopes of a key: presets, and one checkbox for each scope with its description. */
import type { JSX } from "preact";
import { CheckList } from "../ui/field.tsx";
import { presetOf, PRESETS, SCOPE_TEXTS, scopesOf } from "./scopes.ts";

type ScopeFieldsProps = {
  /** The scopes of the own key: a key can grant only the scopes that it has itself. */
  granted: readonly string[];
  chosen: readonly string[];
  onChosen: (scopes: string[]) => void;
  error: string | undefined;
};

export function ScopeFields({ granted, chosen, onChosen, error }: ScopeFieldsProps): JSX.Element {
  const preset = presetOf(chosen, granted);
  const offered = PRESETS.filter((each) => scopesOf(each, granted).length > 0);
  return (
    <>
      <div class="tabs" role="group" aria-label="Presets of scopes">
        {offered.map((each) => (
          <button key={each.name} type="button" aria-pressed={each === preset} onClick={() => onChosen(scopesOf(each, granted))}>
            {each.name}
          </button>
        ))}
      </div>
      <p class="hint" role="status">
        {preset?.description ?? "Choose a preset, or the scopes that the key needs."}
      </p>
      <CheckList legend="Scopes" options={granted} descriptions={SCOPE_TEXTS} chosen={chosen} onChosen={onChosen} error={error} />
      <p class="hint">You can grant only scopes that your own key has.</p>
    </>
  );
}
