/** The HTTP routes of the Kannel API. */
import type { RequestHead, Route } from "../api/route.ts";
import { macOf, type CompatibleAuthenticator, type CompatibleCredential, type Login } from "../compatible/authenticate.ts";
import type { Mac } from "../compatible/compatible-api.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { Problem } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { lockSecretOf } from "../idempotency/key.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { SetupContext } from "../links/setup.ts";
import type { Acceptor } from "../messages/accept.ts";
import type { AddressGate } from "../outbound/address-gate.ts";
import { answerTo, problemOf, Refusal } from "./answers.ts";
import { isForStatus, kannelSettings, statusUser } from "./kannel.ts";
import { asUtf8, parametersOf } from "./parameters.ts";
import { MAX_RECEIVERS, readSendSms, type PostedText } from "./read-sendsms.ts";
import { sendAll, type SendParts } from "./send.ts";
import { STATUS_FORMS, statusPage, type StatusForm } from "./status.ts";

export type KannelRouteParts = {
  db: Database;
  clock: Clock;
  box: SecretBox;
  gate: AddressGate;
  acceptor: Acceptor;
  setup: SetupContext;
  users: CompatibleAuthenticator;
};

const SENDSMS = "/cgi-bin/sendsms";

const UNDOCUMENTED = { tag: "Kannel", summary: "", description: "", isIdempotent: false, problems: [] } as const;
const REPLY = { status: 202, description: "", schema: Type.String() };

export function kannelRoutes(parts: KannelRouteParts): Route[] {
  const { users } = parts;
  const sends = compatible(users, loginOf);
  const mac = macOf(parts.box, "kannel");
  const reads = compatible(users, (head) => statusLoginOf(head, mac));
  const sendParts: SendParts = { ...parts, lockSecret: () => lockSecretOf(parts.box) };
  const sendRow = (method: "GET" | "POST"): Route => ({
    ...UNDOCUMENTED,
    method,
    path: SENDSMS,
    operationId: `kannelSendsms${method === "GET" ? "" : "Post"}`,
    scope: "messages:send",
    weight: "send",
    compatible: sends,
    cost: (_, head) => countReceivers(head),
    reply: REPLY,
    handle: async (call: Parameters<Route["handle"]>[0]) => {
      const { head, body } = call as { head: RequestHead; body: Buffer };
      // HEAD has the row of GET, and must send nothing.
      if (head.method === "HEAD") throw new Problem("method_not_allowed");
      const { settings } = call.credential as CompatibleCredential;
      if (isForStatus(settings)) throw new Problem("forbidden_insufficient_scope");
      try {
        const posted = head.method === "POST" ? postedText(head, body) : undefined;
        return await sendAll(sendParts, readSendSms(parametersOf(head), kannelSettings(settings), posted), call);
      } catch (error) {
        throw error instanceof Refusal ? problemOf(error) : error;
      }
    },
  });
  const statusRow = (path: string, form: StatusForm): Route => ({
    ...UNDOCUMENTED,
    method: "GET",
    path,
    operationId: "kannelStatus",
    scope: "usage:read",
    weight: "heavy",
    compatible: reads,
    reply: { ...REPLY, status: 200 },
    handle: ({ credential, head }: Parameters<Route["handle"]>[0]) =>
      statusPage(parts, credential, path === "/status" ? formOf(head) : form),
  });
  const otherRow = (method: "PUT" | "PATCH" | "DELETE"): Route => ({
    ...sendRow("POST"),
    method,
    operationId: `kannelSendsms${method}`,
    handle: async () => {
      throw new Problem("method_not_allowed");
    },
  });
  const others = (["PUT", "PATCH", "DELETE"] as const).map(otherRow);
  return [
    sendRow("GET"),
    sendRow("POST"),
    ...others,
    statusRow("/status", "html"),
    ...STATUS_FORMS.map((form) => statusRow(`/status.${form}`, form)),
  ];
}

/** Kannel chooses by the header `Accept`. */
function formOf({ headers: { accept = "*/*" } }: RequestHead): StatusForm {
  if (/text\/html|\*\/\*/.test(accept)) return "html";
  return accept.includes("text/xml") ? "xml" : "txt";
}

const compatible = (users: CompatibleAuthenticator, login: (head: RequestHead) => Login): NonNullable<Route["compatible"]> => ({
  authenticate: (head) => users.authenticate(login(head)),
  lastEnvironmentOf: (head) => users.lastEnvironmentOf(login(head)),
  writeRefusal: answerTo,
});

function loginOf(head: RequestHead): Login {
  const parameters = parametersOf(head);
  const userName = parameters.get("username") ?? parameters.get("user") ?? "";
  const secret = parameters.get("password") ?? parameters.get("pass") ?? "";
  return { source: "kannel", userName: asUtf8(userName), secret: asUtf8(secret) };
}

/** The status pages are opened with only a password, or as a user. */
function statusLoginOf(head: RequestHead, mac: Mac): Login {
  const login = loginOf(head);
  return login.userName === "" ? { ...login, userName: statusUser(login.secret, mac) } : login;
}

/** A request costs as much as its messages. */
const countReceivers = (head: RequestHead): number =>
  Math.min(MAX_RECEIVERS, (parametersOf(head).get("to") ?? "").split(/[\s+]+/).filter((word) => word !== "").length);

const TEXTS: ReadonlySet<string> = new Set(["text/plain", "application/octet-stream"]);
/** Types that Kannel knows and refuses later. */
const REFUSED: ReadonlySet<string> = new Set(["text/html", "text/vnd.wap.wml", "text/xml"]);

function postedText({ headers }: RequestHead, bytes: Buffer): PostedText {
  const [type = "", ...parameters] = (headers["content-type"] ?? "application/octet-stream").split(";").map((part) => part.trim());
  const name = type.toLowerCase();
  if (REFUSED.has(name)) throw new Refusal("Unsupported content-type, rejected", 415);
  if (!TEXTS.has(name)) throw new Refusal("Invalid content-type");
  const charset = parameters.find((each) => /^charset=/i.test(each))?.slice("charset=".length) ?? "";
  return { bytes, type: name, charset: charset.replaceAll('"', "") };
}
