/** Whether the godwit of this container answers /livez: exit 0 or 1. Plain JavaScript, since the image has no other program for it. */
import http from "node:http";
import https from "node:https";

const TIMEOUT_MS = 3_000;

const { GODWIT_PORT: port = "8080", GODWIT_TLS_CERT: certificate } = process.env;
const isTls = certificate !== undefined && certificate !== "";
// The certificate is for the name that clients use, and not for the loopback on which we ask ourselves.
const request = (isTls ? https : http).get({
  host: "127.0.0.1",
  port,
  path: "/livez",
  rejectUnauthorized: false,
  signal: AbortSignal.timeout(TIMEOUT_MS),
});
request.on("response", ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1));
request.on("error", () => process.exit(1));
