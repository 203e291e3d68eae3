/** The form fields of a route, for its creation and for changes. */
import type { Link } from "godwit-sdk";
import type { JSX } from "preact";
import { SelectField, TextField } from "../ui/field.tsx";
import { faultAt, faultIn } from "../ui/problem.tsx";
import { carriersOf, movedUp, newRouteDraft, withStep, type RouteDraft, type RouteStep } from "./route-draft.ts";

// The limit of the API.
const MAX_STEPS = 20;
const STRATEGIES = [
  ["", "Order or weights"],
  ["quality", "Quality: the carriers that deliver best"],
  ["price", "Price: the cheapest of those that deliver well"],
] as const;

type RouteFormProps = {
  draft: RouteDraft;
  /** The carriers of the account. */
  links: readonly Link[];
  /** The channel of a saved route cannot be changed. */
  isNew: boolean;
  onChange: (change: Partial<RouteDraft>) => void;
  error: unknown;
};

export function RouteForm({ draft, links, isNew, onChange, error }: RouteFormProps): JSX.Element {
  const channels = [...new Set(links.flatMap((link) => link.channels))];
  return (
    <>
      {isNew && (
        <SelectField
          label="Channel"
          hint="The route is for messages of this channel."
          value={draft.channel}
          onValue={(channel) => onChange({ channel, steps: newRouteDraft(links, channel).steps })}
          options={channels.map((channel) => [channel, channel])}
          error={faultAt(error, "/channel")}
        />
      )}
      <Steps steps={draft.steps} carriers={carriersOf(links, draft.channel)} onSteps={(steps) => onChange({ steps })} error={error} />
      <SelectField
        label="Choose by"
        hint="Quality and price look at the last minutes of each carrier, and keep the order above only among equals. A carrier has its prices in its advanced settings."
        value={draft.strategy}
        onValue={(strategy) => onChange({ strategy })}
        options={STRATEGIES}
        error={faultAt(error, "/strategy")}
      />
      <TextField
        label="Countries"
        isOptional
        placeholder="US, CA"
        hint="Only recipients in these countries. Two letters each, separated by commas. Empty: all countries."
        value={draft.countries}
        onValue={(countries) => onChange({ countries })}
        error={faultIn(error, "/countries")}
      />
      <TextField
        label="Prefixes"
        isOptional
        placeholder="+1415, +1628"
        hint="Only numbers that begin with one of these, separated by commas. Empty: all numbers."
        value={draft.prefixes}
        onValue={(prefixes) => onChange({ prefixes })}
        error={faultIn(error, "/prefixes")}
      />
      <TextField
        label="Priority"
        isOptional
        type="number"
        placeholder="0"
        hint="If several routes fit a recipient, the highest priority is used, and among equals the one with the longest prefix."
        value={draft.priority}
        onValue={(priority) => onChange({ priority })}
        error={faultAt(error, "/priority")}
      />
    </>
  );
}

type StepsProps = {
  steps: readonly RouteStep[];
  carriers: readonly Link[];
  onSteps: (steps: readonly RouteStep[]) => void;
  error: unknown;
};

/** The carriers of the route, in their order, each with its weight. */
function Steps({ steps, carriers, onSteps, error }: StepsProps): JSX.Element {
  const replace = (key: number, change: Partial<RouteStep>): void =>
    onSteps(steps.map((step) => (step.key === key ? { ...step, ...change } : step)));
  return (
    <fieldset class="stack">
      <legend class="unseen">Carriers</legend>
      {steps.map(({ key, link, weight }, at) => (
        <div class="extra" key={key} role="group" aria-label={`Carrier ${at + 1}`}>
          <SelectField
            label={`Carrier ${at + 1}`}
            value={link}
            onValue={(id) => replace(key, { link: id })}
            options={carriers.map(({ id, name }) => [id, name])}
            error={faultAt(error, `/links/${at}`)}
          />
          <TextField
            label="Weight"
            isOptional
            type="number"
            value={weight}
            onValue={(text) => replace(key, { weight: text })}
            // A fault of all weights together is shown at the first.
            error={faultAt(error, `/weights/${at}`) ?? (at === 0 ? faultAt(error, "/weights") : undefined)}
          />
          {steps.length > 1 && (
            <div class="actions">
              <button type="button" disabled={at === 0} onClick={() => onSteps(movedUp(steps, at))}>
                Move up
              </button>
              <button type="button" onClick={() => onSteps(steps.filter((step) => step.key !== key))}>
                Remove
              </button>
            </div>
          )}
        </div>
      ))}
      <p class="hint">
        Carriers are used in this order: a message takes the next one if those before it cannot accept it. With weights, the first carrier
        of each message is chosen at random: with 3 and 1, the first gets three of four messages.
      </p>
      {steps.length < Math.min(MAX_STEPS, carriers.length) && (
        <div>
          <button type="button" onClick={() => onSteps(withStep(steps, carriers))}>
            Add a carrier
          </button>
        </div>
      )}
    </fieldset>
  );
}
