/** Code samples of a request. They never contain the API key. */
import type { NewMessage } from "godwit-sdk";

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export const toCurl = (origin: string, request: NewMessage, idempotencyKey: string): string =>
  `curl -sS ${origin}/v1/messages \\
  -H "Authorization: Bearer $GODWIT_KEY" \\
  -H "Idempotency-Key: ${idempotencyKey}" \\
  -H "Content-Type: application/json" \\
  -d ${quoted(JSON.stringify(request))}`;

export const toSdkCode = (origin: string, request: NewMessage, idempotencyKey: string): string =>
  `import { Godwit } from "godwit-sdk";

const godwit = new Godwit({ baseUrl: ${JSON.stringify(origin)}, apiKey: process.env.GODWIT_KEY });

const message = await godwit.messages.send(
  ${JSON.stringify(request, null, 2).replaceAll("\n", "\n  ")},
  { idempotencyKey: ${JSON.stringify(idempotencyKey)} },
);`;
