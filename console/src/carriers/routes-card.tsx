/** The routes: which carriers take the messages to which recipients, and in which order. */
import type { Link, Route } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { useResource } from "../lib/resource.ts";
import { useApi } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { Loaded } from "../ui/page.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { useToast } from "../ui/toast.tsx";
import { isOfOperator } from "./carrier-state.tsx";
import { newRouteDraft, routeDraftOf, toNewRoute, toRules, type RouteDraft } from "./route-draft.ts";
import { RouteForm } from "./route-form.tsx";

type Open = { kind: "add" } | { kind: "change" | "delete"; route: Route };

export function RoutesCard({ links, mayChange }: { links: readonly Link[]; mayChange: boolean }): JSX.Element {
  const api = useApi();
  const [open, setOpen] = useState<Open | undefined>(undefined);
  const routes = useResource("routes", async (signal) => (await api.routes.list({ signal })).data);
  const own = links.filter((link) => !isOfOperator(link));
  const dialog = { links: own, onClose: () => setOpen(undefined), onDone: routes.reload };
  const columns = toColumns(new Map(links.map(({ id, name }) => [id, name])));
  return (
    <section class="card" aria-label="Routes">
      <div class="card-head">
        <h2>Routes</h2>
        {mayChange && own.length > 0 && (
          <button type="button" onClick={() => setOpen({ kind: "add" })}>
            Add a route
          </button>
        )}
      </div>
      <p class="quiet beside">
        Without routes, the carriers of a channel are used in the order in which they were added. With routes, a message that no route fits
        is refused.
      </p>
      <Loaded resource={routes} lines={1}>
        {(all) =>
          all.length > 0 && (
            <Table label="Routes" columns={mayChange ? [...columns, changeColumn(setOpen)] : columns} rows={all} keyOf={({ id }) => id} />
          )
        }
      </Loaded>
      {open?.kind === "add" && <SaveRoute {...dialog} />}
      {open?.kind === "change" && <SaveRoute {...dialog} route={open.route} />}
      {open?.kind === "delete" && <DeleteRoute {...dialog} route={open.route} />}
    </section>
  );
}

/** The recipients of a route. */
const recipientsOf = ({ countries, prefixes }: Route): string =>
  [countries?.join(", "), prefixes?.map((prefix) => `${prefix}…`).join(", ")].filter(Boolean).join(" and ") || "all";

const toColumns = (names: ReadonlyMap<string, string>): Column<Route>[] => [
  {
    name: "Channel",
    cell: ({ channel, source }) => (
      <>
        <span class="strong">{channel}</span> {source === "file" && <span class="quiet">configured by the operator</span>}
      </>
    ),
  },
  { name: "Recipients", cell: recipientsOf },
  {
    name: "Carriers",
    cell: ({ links, weights, strategy }) =>
      links
        .map((id, at) => `${names.get(id) ?? id}${weights === null ? "" : ` (weight ${weights[at]})`}`)
        .join(weights === null && strategy === null ? ", then " : ", "),
  },
  { name: "Chosen by", cell: ({ strategy, weights }) => strategy ?? (weights === null ? "order" : "weights") },
  { name: "Priority", cell: ({ priority }) => priority, isNumber: true },
];

const changeColumn = (onOpen: (open: Open) => void): Column<Route> => ({
  name: "Actions",
  isAction: true,
  cell: (route) =>
    route.source === "api" && (
      <div class="actions">
        {(["change", "delete"] as const).map((kind) => (
          <button type="button" key={kind} onClick={() => onOpen({ kind, route })}>
            {kind === "change" ? "Change" : "Delete"}{" "}
            <span class="unseen">
              the route of {route.channel} to {recipientsOf(route)}
            </span>
          </button>
        ))}
      </div>
    ),
});

type DialogProps = { links: readonly Link[]; onClose: () => void; onDone: () => void };

/** Adds a route, or changes the given one. */
function SaveRoute({ route, links, onClose, onDone }: DialogProps & { route?: Route }): JSX.Element {
  const api = useApi();
  const say = useToast();
  const [draft, setDraft] = useState(() => (route === undefined ? newRouteDraft(links) : routeDraftOf(route)));
  const action = useAction(async () => {
    if (route === undefined) await api.routes.create(toNewRoute(draft));
    else await api.routes.edit(route.id, toRules(draft));
    say(route === undefined ? "The route is added" : "The route is changed");
    onDone();
    onClose();
  });
  const onChange = (change: Partial<RouteDraft>): void => {
    // The faults of carriers are by their positions, which may now be others.
    if (change.steps !== undefined) action.clear();
    setDraft((before) => ({ ...before, ...change }));
  };
  return (
    <FormDialog
      title={route === undefined ? "Add a route" : `Change the route of ${route.channel}`}
      submit={route === undefined ? "Add" : "Save"}
      action={action}
      onClose={onClose}
    >
      <RouteForm draft={draft} links={links} isNew={route === undefined} onChange={onChange} error={action.error} />
    </FormDialog>
  );
}

function DeleteRoute({ route, onClose, onDone }: DialogProps & { route: Route }): JSX.Element {
  const api = useApi();
  const say = useToast();
  const action = useAction(async () => {
    await api.routes.delete(route.id);
    say("The route is deleted");
    onDone();
    onClose();
  });
  return (
    <FormDialog title="Delete the route?" submit="Delete" isDangerous action={action} onClose={onClose}>
      <p>
        New messages of {route.channel} to <strong>{recipientsOf(route)}</strong> take another route that fits, or are refused. If no route
        of the channel is left, its carriers are used in the order in which they were added. Messages that are already accepted keep their
        carrier.
      </p>
    </FormDialog>
  );
}
