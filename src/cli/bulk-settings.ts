/** The settings of a bulk send: those that all rows share, from the flags, and the target of each column. */
import { mapColumns, type MappingRequest, type ColumnTarget } from "../bulk/columns.ts";
import type { BulkSettings } from "../bulk/rows.ts";
import { CHANNELS, type Channel } from "../links/channel.ts";
import { hasBraces } from "../templates/placeholders.ts";
import type { ClientConfig } from "./client-config.ts";
import { callRepeatedly, expectSuccess, explainProblem, type RepeatOptions } from "./client.ts";
import { pairFlags, UsageError, type Input } from "./command.ts";
import { StartupError } from "../database/startup-error.ts";

type Settings = Omit<BulkSettings, "sendId">;

/** The sources of the settings. `shared` has the fields of the flags, as in a request for one message. */
export type SettingsInput = {
  input: Input;
  shared: Record<string, unknown>;
  headings: readonly string[];
  client: ClientConfig;
  repeat: RepeatOptions;
};

export async function readBulkSettings({ input, shared, headings, client, repeat }: SettingsInput): Promise<Settings> {
  const { template_variables: variables = {}, metadata = {}, ...fields } = shared;
  const channel = CHANNELS.find((each) => each === fields["channel"]);
  if (channel === undefined) throw new UsageError(`--channel must be one of ${CHANNELS.join(", ")}`);
  const defaults = { ...fields, channel, priority: fields["priority"] ?? "bulk" } as BulkSettings["defaults"];
  if (defaults.body !== undefined && defaults.template_id !== undefined) throw new UsageError("--body and --template exclude each other");
  if (defaults.body !== undefined && hasBraces(defaults.body))
    throw new UsageError(
      "--body is the same text for all rows: create a template for a text with {{placeholders}}, and name it with --template",
    );
  const template = defaults.template_id === undefined ? undefined : await readTemplate(client, defaults.template_id, repeat);
  const constants = variables as Record<string, string>;
  const content = contentOf(defaults, template);
  const { targets, faults } = mapColumns({ headings, chosen: readChosen(input), content, constants: Object.keys(constants) });
  if (faults.length > 0)
    throw new UsageError(
      [...faults, `the columns are ${headings.join(", ")}; --map COLUMN=FIELD names the field of a column`].join("\n  "),
    );
  return {
    defaults,
    variables: constants,
    metadata: metadata as Record<string, string>,
    targets,
    templateBody: template?.body ?? null,
    allowsDuplicates: input.flags["allow-duplicates"] === true,
  };
}

const readChosen = ({ flags }: Input): ReadonlyMap<string, ColumnTarget> => new Map(pairFlags(flags, "map"));

function contentOf(
  { body, template_id: id }: { channel: Channel; body?: string; template_id?: string },
  template: Template | undefined,
): MappingRequest["content"] {
  if (id !== undefined) return template === undefined ? "template" : { variables: template.variables.map(({ name }) => name) };
  return body === undefined ? "none" : "text";
}

type Template = { body: string; variables: readonly { name: string }[] };

/** Undefined if the key may not read templates: the service then checks the variables of the samples. */
async function readTemplate(client: ClientConfig, name: string, repeat: RepeatOptions): Promise<Template | undefined> {
  const outcome = await callRepeatedly(client, { method: "GET", path: `/v1/templates/${encodeURIComponent(name)}` }, repeat);
  if (outcome.kind === "response" && outcome.status === 403) return undefined;
  if (outcome.kind === "response" && outcome.status === 404) throw new StartupError(`${explainProblem(outcome)} (--template ${name})`);
  return expectSuccess(outcome, client, {}).json as Template;
}
