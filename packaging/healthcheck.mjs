/** Requests /livez of the service in this container, and exits with 0 if it responds, otherwise with 1. Plain
 *  JavaScript, because the image has no other HTTP client. */
import http from "node:http";
import https from "node:https";

const TIMEOUT_MS = 3_000;

const { GODWIT_PORT: port = "8080", GODWIT_TLS_CERT: certificate } = process.env;
const isTls = certificate !== undefined && certificate !== "";
// The certificate is for the name that clients use, not for the loopback address of this request.
const request = (isTls ? https : http).get({
  host: "127.0.0.1",
  port,
  path: "/livez",
  rejectUnauthorized: false,
  signal: AbortSignal.timeout(TIMEOUT_MS),
});
request.on("response", ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1));
request.on("error", () => process.exit(1));
