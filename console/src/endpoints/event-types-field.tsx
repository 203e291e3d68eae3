/** The form field for event types: all of them, or a selection by kind and type. Those of the audit log are always a selection. */
import type { JSX } from "preact";
import { useId, useRef } from "preact/hooks";
import { ALL, isAudit, KINDS, unknownTypes, wildcard, type Kind } from "./event-types.ts";

type Choice = { chosen: readonly string[]; onChosen: (chosen: string[]) => void };

export function EventTypesField({ chosen, onChosen, error }: Choice & { error: string | undefined }): JSX.Element {
  const name = useId();
  const isAll = chosen.includes(ALL);
  const { current: others } = useRef(unknownTypes(chosen));
  const kinds = isAll ? KINDS.filter(({ types }) => types.every(isAudit)) : KINDS;
  return (
    <fieldset class="checks">
      <legend>Event types</legend>
      <div>
        <label>
          <input type="radio" name={name} checked={isAll} onChange={() => onChosen([ALL, ...chosen.filter(isAudit)])} />{" "}
          <span>All except the audit log</span>
        </label>
        <label>
          <input type="radio" name={name} checked={!isAll} onChange={() => onChosen(chosen.filter((type) => type !== ALL))} />{" "}
          <span>Selected events</span>
        </label>
      </div>
      {kinds.map((kind) => (
        <KindChoice key={kind.name} kind={kind} chosen={chosen} onChosen={onChosen} />
      ))}
      {!isAll && others.length > 0 && <KindChoice kind={{ name: "other", types: others }} chosen={chosen} onChosen={onChosen} />}
      {error !== undefined && <p class="fault">{error}</p>}
    </fieldset>
  );
}

/** The checkboxes of one kind: the wildcard and its types. */
function KindChoice({ kind, chosen, onChosen }: Choice & { kind: Kind }): JSX.Element {
  const whole = wildcard(kind);
  const isWhole = chosen.includes(whole);
  const hasWhole = (kind.types.length > 1 || isWhole) && kind.name !== "other";
  const toggle = (type: string): void => onChosen(chosen.includes(type) ? chosen.filter((other) => other !== type) : [...chosen, type]);
  const toggleWhole = (): void => {
    const rest = chosen.filter((type) => type !== whole && !kind.types.includes(type));
    onChosen(isWhole ? rest : [...rest, whole]);
  };
  return (
    <fieldset class="kind">
      <legend class="quiet">{kind.name}</legend>
      <div>
        {hasWhole && (
          <label>
            <input type="checkbox" checked={isWhole} onChange={toggleWhole} /> <span>{whole}</span>
          </label>
        )}
        {kind.types.map((type) => (
          <label key={type}>
            <input type="checkbox" checked={isWhole || chosen.includes(type)} disabled={isWhole} onChange={() => toggle(type)} />{" "}
            <span>{type}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
