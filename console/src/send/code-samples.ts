/** Code samples of a request. They never contain the API key. */
import type { NewMessage } from "godwit-sdk";

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export const toCurl = (origin: string, request: NewMessage, idempotencyKey: string): string =>
  `curl -sS ${origin}/v1/messages \\
  -H "Authorization: Bearer $GODWIT_KEY" \\
  -H "Idempotency-Key: ${idempotencyKey}" \\
  -H "Content-Type: application/json" \\
  -d ${quoted(JSON.stringify(request, null, 2))}`;

export const toTypeScript = (origin: string, request: NewMessage, idempotencyKey: string): string =>
  `import { Godwit } from "godwit-sdk";

const godwit = new Godwit({ baseUrl: ${JSON.stringify(origin)}, apiKey: process.env.GODWIT_KEY });

const message = await godwit.messages.send(
  ${JSON.stringify(request, null, 2).replaceAll("\n", "\n  ")},
  { idempotencyKey: ${JSON.stringify(idempotencyKey)} },
);`;

/** A JSON value without null, true and false is also a Python value. */
const toArgument = ([name, value]: [string, unknown]): string =>
  `    ${name}=${JSON.stringify(value, null, 4).replaceAll("\n", "\n    ")},`;

export const toPython = (origin: string, request: NewMessage, idempotencyKey: string): string =>
  `from godwit import Godwit

# Reads the key from GODWIT_KEY.
godwit = Godwit(base_url=${JSON.stringify(origin)})

message = godwit.messages.send(
${Object.entries({ ...request, idempotency_key: idempotencyKey })
  .map(toArgument)
  .join("\n")}
)`;
