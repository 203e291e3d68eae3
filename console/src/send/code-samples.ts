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

/** Python with its standard library. A JSON object without null, true and false is also a Python dictionary. */
export const toPython = (origin: string, request: NewMessage, idempotencyKey: string): string =>
  `import json, os, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(`${origin}/v1/messages`)},
    data=json.dumps(${JSON.stringify(request, null, 4).replaceAll("\n", "\n    ")}).encode(),
    headers={
        "Authorization": f"Bearer {os.environ['GODWIT_KEY']}",
        "Idempotency-Key": ${JSON.stringify(idempotencyKey)},
        "Content-Type": "application/json",
    },
)
with urllib.request.urlopen(request) as response:
    message = json.load(response)`;
