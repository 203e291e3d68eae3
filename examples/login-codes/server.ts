/** Log-in with a code by SMS. The page of your site calls `/login` with the phone number, then `/login/ID/check` with the code. */
import { randomBytes } from "node:crypto";
import { serve } from "@hono/node-server";
import { Godwit, hasCode } from "godwit-sdk";
import { Hono } from "hono";
import { getCookie, setCookie } from "hono/cookie";

// Reads GODWIT_KEY and GODWIT_URL. A person who waits for a code gives up sooner than the default of two minutes.
const godwit = new Godwit({ totalTimeoutMs: 10_000 });
// In memory, so that the example needs no database.
const phoneOfSession = new Map<string, string>();
const app = new Hono();

app.post("/login", async (context) => {
  // `attempt` is a UUID that the page creates when the user asks for a code, and sends again when it repeats the request.
  const { phone, attempt } = await context.req.json<{ phone: string; attempt: string }>();
  const { id, expires_at } = await godwit.verifications.create({ recipient: phone, channels: ["sms"] }, { idempotencyKey: attempt });
  return context.json({ login: id, expires_at }, 201);
});

app.post("/login/:id/check", async (context) => {
  const { code } = await context.req.json<{ code: string }>();
  const { valid, attempts_left, recipient } = await godwit.verifications.check(context.req.param("id"), { code });
  if (!valid) return context.json({ error: "wrong_code", attempts_left }, 401);
  const session = randomBytes(32).toString("base64url");
  phoneOfSession.set(session, recipient);
  setCookie(context, "session", session, { httpOnly: true, sameSite: "Lax", secure: process.env["NODE_ENV"] === "production" });
  return context.json({ phone: recipient });
});

app.get("/me", (context) => {
  const phone = phoneOfSession.get(getCookie(context, "session") ?? "");
  return phone === undefined ? context.json({ error: "not_logged_in" }, 401) : context.json({ phone });
});

app.onError((error, context) => {
  if (hasCode(error, "verification_too_soon", "verification_limit_reached"))
    return context.json({ error: "wait", detail: error.detail }, 429);
  // The code has expired, was used, was wrong five times, or a newer code has replaced it.
  if (hasCode(error, "verification_not_pending", "not_found")) return context.json({ error: "start_again" }, 410);
  if (hasCode(error, "invalid_request_payload", "invalid_idempotency_key"))
    return context.json({ error: "invalid_input", detail: error.detail }, 400);
  console.error(error);
  return context.json({ error: "try_again" }, 503);
});

serve({ fetch: app.fetch, port: Number(process.env["PORT"] ?? 3000) }, ({ port }) => console.log(`http://localhost:${port}`));
