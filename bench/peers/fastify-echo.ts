/** Only the framework: Fastify with our schema, its own validation, and an echo of the body. */
import Fastify from "fastify";
import { HINT } from "../../src/http/schema.ts";
import { NewMessageBody } from "../../src/messages/new-message.ts";

const app = Fastify({
  ajv: { customOptions: { coerceTypes: false, removeAdditional: false, allErrors: true, allowUnionTypes: true, keywords: [HINT] } },
});
app.post("/v1/messages", { schema: { body: NewMessageBody } }, async (request) => request.body);
process.stdout.write(`${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);
