/** Code samples of an operation of the API, in curl, TypeScript and Python, made from its example in the OpenAPI document, for the API reference. They
 *  are not in /openapi.json: most readers of the document are programs, and the SDK methods are not known to the service. */
import { pathArguments, pythonLiteral, shellQuote, typescriptLiteral } from "./sample-literals.ts";

type Parameter = { name: string; in: string; example?: string | number };
type Media = { example?: unknown };
export type SampleOperation = {
  operationId: string;
  parameters: readonly Parameter[];
  requestBody?: { content: Readonly<Record<string, Media>> };
  responses: Readonly<Record<string, { content?: Readonly<Record<string, Media>> }>>;
};
type CodeSample = { language: "curl" | "TypeScript" | "Python"; source: string };
type Place = { method: string; path: string };

// The script of the page replaces it by the origin of the page.
const ORIGIN = "http://127.0.0.1:8080";

/** The SDK methods that are not the usual ones of their resource. */
const METHODS: Readonly<Record<string, string>> = {
  sendMessage: "messages.send",
  sendBatch: "batches.send",
  archiveTemplate: "templates.archive",
  liftSuppression: "suppressions.lift",
  revokeKey: "keys.revoke",
  getWebhookDelivery: "webhookEndpoints.delivery",
  retryWebhookDelivery: "webhookEndpoints.retry",
  streamEvents: "events.stream",
  createMedia: "media.uploadFromUrl",
  getMediaContent: "media.download",
  getUsage: "usage.get",
  getQueue: "queue.get",
  getCredential: "credential.get",
  getConsentSettings: "consentSettings.get",
  updateConsentSettings: "consentSettings.edit",
};
const VERBS: Readonly<Record<string, string>> = { get: "get", post: "create", patch: "edit", delete: "delete" };

const toCamelCase = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const toSnakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The SDK method of an operation, such as `webhookEndpoints.rotateSecret`. Undefined where the SDK has none. */
export function sdkMethod({ operationId }: Pick<SampleOperation, "operationId">, { method, path }: Place): string | undefined {
  const known = METHODS[operationId];
  if (known !== undefined) return known;
  const [version, resource = "", ...rest] = path.split("/").slice(1);
  if (version !== "v1" || resource === "oauth") return undefined;
  const action = rest.findLast((part) => !part.startsWith("{"));
  const verb = rest.length === 0 && method === "get" ? "list" : (VERBS[method] ?? method);
  return `${toCamelCase(resource)}.${toCamelCase(action ?? verb)}`;
}

/** The samples of an operation, in the order of the tabs. */
export function codeSamples(operation: SampleOperation, place: Place): CodeSample[] {
  const method = sdkMethod(operation, place);
  return [
    { language: "curl", source: curl(operation, place) },
    {
      language: "TypeScript",
      source: method === undefined ? typescriptFetch(operation, place) : typescript(operation, method),
    },
    { language: "Python", source: method === undefined ? pythonUrllib(operation, place) : python(operation, method) },
  ];
}

const bodyOf = ({ requestBody }: SampleOperation): object | undefined =>
  Object.values(requestBody?.content ?? {})[0]?.example as object | undefined;

function responseOf({ responses }: SampleOperation): unknown {
  const [, success] = Object.entries(responses).find(([status]) => status.startsWith("2")) ?? [];
  return Object.values(success?.content ?? {})[0]?.example;
}

const queryOf = ({ parameters }: SampleOperation): Record<string, string | number> =>
  Object.fromEntries(
    parameters.flatMap(({ name, in: place, example }) => (place === "query" && example !== undefined ? [[name, example]] : [])),
  );

/** Whether the response is a file of any type. */
const isFile = ({ responses }: SampleOperation): boolean => Object.values(responses).some(({ content = {} }) => "*/*" in content);

const isForm = ({ requestBody }: SampleOperation): boolean =>
  Object.hasOwn(requestBody?.content ?? {}, "application/x-www-form-urlencoded");

function curl(operation: SampleOperation, { method, path }: Place): string {
  const body = bodyOf(operation);
  const query = new URLSearchParams(
    Object.entries(queryOf(operation)).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  const concrete = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    String(operation.parameters.find((each) => each.name === name)?.example),
  );
  const isDefault = method === (body === undefined ? "get" : "post");
  const isStream = typeof responseOf(operation) === "string" && !isFile(operation);
  const command = [
    "curl",
    ...(isStream ? ["-N"] : []),
    ...(isFile(operation) ? ["-o file"] : []),
    ...(isDefault ? [] : ["-X", method.toUpperCase()]),
  ].join(" ");
  const credential = isForm(operation) ? '-u "$GODWIT_KEY_ID:$GODWIT_KEY"' : '-H "Authorization: Bearer $GODWIT_KEY"';
  const hasKey = operation.parameters.some(({ name }) => name === "Idempotency-Key");
  return [
    `${command} "${ORIGIN}${concrete}${query === "" ? "" : `?${query}`}"`,
    ...(path.startsWith("/v1/") ? [credential] : []),
    ...(hasKey ? ['-H "Idempotency-Key: $(uuidgen)"'] : []),
    ...(body === undefined ? [] : isForm(operation) ? formFields(body) : jsonFields(body)),
  ].join(" \\\n  ");
}

const jsonFields = (body: object): string[] => ['-H "Content-Type: application/json"', `-d ${shellQuote(jsonText(body))}`];
/** On one line where it is short, otherwise indented like the other lines of the command. */
const jsonText = (body: object): string => {
  const oneLine = JSON.stringify(body);
  return oneLine.length <= MAX_JSON ? oneLine : JSON.stringify(body, null, 2).replaceAll("\n", "\n  ");
};
const MAX_JSON = 40;
const formFields = (body: object): string[] =>
  Object.entries(body).map(([name, value]) => `--data-urlencode ${shellQuote(`${name}=${String(value)}`)}`);

/** The name of a variable for the response: its `object`, or the resource of a list without pages. */
function variableOf(response: unknown, method: string): string {
  const { object, data } = (response ?? {}) as { object?: string; data?: unknown };
  if (data !== undefined && object === undefined) return method.slice(0, method.indexOf("."));
  return object === undefined ? "result" : toCamelCase(object);
}

/** Whether the method returns an iterable: a list with pages, a stream or an export. */
const isIterable = (operation: SampleOperation): boolean => {
  const response = responseOf(operation);
  return (
    typeof response === "string" || (typeof response === "object" && response !== null && "has_more" in response && "data" in response)
  );
};

/** The name of a variable for one item. */
function itemOf(operation: SampleOperation): string {
  const [first] = (responseOf(operation) as { data?: readonly { object?: string }[] }).data ?? [];
  if (first === undefined) return operation.operationId === "streamEvents" ? "event" : "record";
  return first.object === undefined ? (/^(list|get)Event/.test(operation.operationId) ? "event" : "change") : toCamelCase(first.object);
}

function typescript(operation: SampleOperation, method: string): string {
  const input = bodyOf(operation) ?? (Object.keys(queryOf(operation)).length > 0 ? queryOf(operation) : undefined);
  const args = [...pathArguments(operation.parameters), ...(input === undefined ? [] : [typescriptLiteral(input)])];
  const call = `godwit.${method}(${args.join(", ")})`;
  const head = `import { Godwit } from "godwit-sdk";\n\nconst godwit = new Godwit(); // reads GODWIT_KEY and GODWIT_URL\n\n`;
  if (isFile(operation)) return `import { writeFile } from "node:fs/promises";\n${head}await writeFile("file", await ${call});\n`;
  if (isIterable(operation)) {
    const item = itemOf(operation);
    return `${head}for await (const ${item} of ${call}) {\n  console.log(${item});\n}\n`;
  }
  const name = variableOf(responseOf(operation), method);
  return `${head}const ${name} = await ${call};\nconsole.log(${name});\n`;
}

// Longer arguments are written one on each line.
const MAX_ARGUMENTS = 60;
// Words of Python that are names of methods in the SDK.
const PYTHON_KEYWORDS: ReadonlySet<string> = new Set(["import"]);

function python(operation: SampleOperation, method: string): string {
  const input = (bodyOf(operation) ?? queryOf(operation)) as Record<string, unknown>;
  const keywords = Object.entries(input).map(([name, value]) => `${name}=${pythonLiteral(value, 1)}`);
  const positional = pathArguments(operation.parameters);
  const [resource = "", verb = ""] = toSnakeCase(method).split(".");
  const oneLine = [...positional, ...keywords].join(", ");
  const args =
    oneLine.includes("\n") || oneLine.length > MAX_ARGUMENTS
      ? `\n${[...positional, ...keywords].map((each) => `    ${each},\n`).join("")}`
      : oneLine;
  const call = `godwit.${resource}.${verb}${PYTHON_KEYWORDS.has(verb) ? "_" : ""}(${args})`;
  const head = "from godwit import Godwit\n\ngodwit = Godwit()  # reads GODWIT_KEY and GODWIT_URL\n\n";
  if (isFile(operation)) return `${head}${call}.save("file")\n`;
  if (isIterable(operation)) {
    const item = toSnakeCase(itemOf(operation));
    return `${head}for ${item} in ${call}:\n    print(${item})\n`;
  }
  const name = toSnakeCase(variableOf(responseOf(operation), method));
  return `${head}${name} = ${call}\nprint(${name})\n`;
}

/** The operations without an SDK method: the token endpoint, which takes a form, and the public signing keys. */
function typescriptFetch(operation: SampleOperation, { path }: Place): string {
  const body = bodyOf(operation);
  const options =
    body === undefined
      ? ""
      : `, {
  method: "POST",
  headers: { authorization: \`Basic \${btoa(\`\${process.env.GODWIT_KEY_ID}:\${process.env.GODWIT_KEY}\`)}\` },
  body: new URLSearchParams(${typescriptLiteral(body, 1)}),
}`;
  return `const response = await fetch("${ORIGIN}${path}"${options});\nconsole.log(await response.json());\n`;
}

function pythonUrllib(operation: SampleOperation, { path }: Place): string {
  const body = bodyOf(operation);
  if (body === undefined)
    return `import json, urllib.request

with urllib.request.urlopen("${ORIGIN}${path}") as response:
    print(json.load(response))
`;
  return `import base64, json, os, urllib.parse, urllib.request

client = f"{os.environ['GODWIT_KEY_ID']}:{os.environ['GODWIT_KEY']}"
form = ${pythonLiteral(body, 0)}
request = urllib.request.Request(
    "${ORIGIN}${path}",
    data=urllib.parse.urlencode(form).encode(),
    headers={"Authorization": "Basic " + base64.b64encode(client.encode()).decode()},
)
with urllib.request.urlopen(request) as response:
    print(json.load(response))
`;
}
