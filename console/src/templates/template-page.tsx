/** The page of one template. */
import type { Template } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useEvents } from "../session/live.tsx";
import { useApi, useMay } from "../session/use-session.ts";
import { Ago } from "../ui/moment.tsx";
import { Loaded, Needs, Page } from "../ui/page.tsx";
import { CreatedBy } from "../ui/resource-link.tsx";
import { Status } from "../ui/status.tsx";
import { ArchiveTemplate } from "./archive-template.tsx";
import { EditTemplate } from "./edit-template.tsx";
import { NewTemplatePage } from "./new-template.tsx";
import { ShowTemplate } from "./show-template.tsx";

export function TemplatePage({ id }: { id: string }): JSX.Element {
  if (id !== "new") return <SavedTemplate id={id} />;
  return (
    <Needs scope="templates:write" what="create templates" title="New template">
      <NewTemplatePage />
    </Needs>
  );
}

function SavedTemplate({ id }: { id: string }): JSX.Element {
  const api = useApi();
  const mayWrite = useMay("templates:write");
  const resource = useResource(`template ${id}`, (signal) => api.templates.get(id, { signal }));
  const set = (template: Template): void => resource.set(() => template);
  useEvents((events) => {
    for (const { data } of events) resource.set((before) => newer(before, data.template));
  });
  const { data: template } = resource;
  const mayEdit = mayWrite && template?.status !== "archived";
  return (
    <Page
      title={template?.name ?? "Template"}
      lead={template && <TemplateState of={template} />}
      actions={template && <Actions template={template} mayEdit={mayEdit} onArchived={set} />}
    >
      <Loaded resource={resource} lines={8}>
        {(shown) => (mayEdit ? <EditTemplate template={shown} onSaved={set} /> : <ShowTemplate template={shown} />)}
      </Loaded>
    </Page>
  );
}

/** Returns the template of an event, unless the shown one is newer. */
const newer = (before: Template | undefined, received: Template | undefined): Template | undefined =>
  before !== undefined && received?.id === before.id && received.updated_at >= before.updated_at ? received : before;

const TemplateState = ({ of }: { of: Template }): JSX.Element => (
  <>
    <Status of={of.status} /> {of.status_reason !== null && <span>{of.status_reason} · </span>}version {of.version} · changed{" "}
    <Ago iso={of.updated_at} /> · created by <CreatedBy by={of.created_by} />
  </>
);

type ActionsProps = { template: Template; mayEdit: boolean; onArchived: (template: Template) => void };

function Actions({ template, mayEdit, onArchived }: ActionsProps): JSX.Element {
  const maySend = useMay("messages:send") && template.status === "approved";
  const [isArchiving, setArchiving] = useState(false);
  return (
    <>
      {mayEdit && (
        <button type="button" onClick={() => setArchiving(true)}>
          Archive
        </button>
      )}
      {maySend && (
        <Link class="button" to="send" query={new URLSearchParams({ template: template.name })}>
          Send with this template
        </Link>
      )}
      {isArchiving && (
        <ArchiveTemplate
          template={template}
          onClose={() => setArchiving(false)}
          onDone={(archived) => {
            setArchiving(false);
            onArchived(archived);
          }}
        />
      )}
    </>
  );
}
