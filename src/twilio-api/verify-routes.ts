/** Twilio's Verify: one service for each environment, verifications and their checks. */
import type { RouteResponse } from "../api/route.ts";
import type { Database } from "../database/database.ts";
import { isoTime } from "../lib/time.ts";
import { MAX_UUID, NIL_UUID, uuidTimeMs } from "../lib/uuid.ts";
import { decodeId, type VerificationId } from "../model/id.ts";
import type { Problem } from "../http/problem.ts";
import { findVerification, listPage } from "../verifications/queries.ts";
import { verificationRecord, type VerificationRecord } from "../verifications/verification.ts";
import type { Verifier } from "../verifications/verifier.ts";
import { twilioProblem } from "./errors.ts";
import { requireKnown, valueOf, type TwilioParameters } from "./forms.ts";
import { isPhoneNumber } from "./new-message.ts";
import { verificationOfSid, verificationSid, verifyServiceSid } from "./sids.ts";
import { jsonReply, notFound, writeReply, type TwilioRequest, type TwilioRow } from "./twilio-route.ts";
import { wholeList } from "./whole-list.ts";

type VerifyParts = { db: Database; verifier: Verifier };

const SERVICES = "/v2/Services";
const SERVICE = `${SERVICES}/{ServiceSid}`;

export const verifyRows = ({ db, verifier }: VerifyParts): TwilioRow[] => [
  {
    method: "GET",
    path: SERVICES,
    operationId: "twilioListVerifyServices",
    scope: "verifications:read",
    handle: async (request) => {
      const url = `${request.baseUrl}${SERVICES}`;
      return jsonReply(wholeList([serviceResource(request)], url, "services", request.parameters));
    },
  },
  {
    method: "GET",
    path: SERVICE,
    operationId: "twilioFetchVerifyService",
    scope: "verifications:read",
    handle: async (request) => {
      requireService(request);
      requireKnown(request.parameters);
      return jsonReply(serviceResource(request));
    },
  },
  {
    method: "POST",
    path: `${SERVICE}/Verifications`,
    operationId: "twilioCreateVerification",
    scope: "verifications:write",
    handle: (request) => start(verifier, request),
  },
  {
    method: "GET",
    path: `${SERVICE}/Verifications/{Sid}`,
    operationId: "twilioFetchVerification",
    scope: "verifications:read",
    handle: async (request) => {
      requireService(request);
      requireKnown(request.parameters);
      const { params, credential, path } = request;
      const id = await findId({ db, verifier }, request, params["Sid"] ?? "");
      const found = id && (await findVerification(db, credential, id));
      if (found === undefined) throw notFound(path);
      return jsonReply(verificationResource(verificationRecord(found, verifier.now()), request));
    },
  },
  {
    method: "POST",
    path: `${SERVICE}/Verifications/{Sid}`,
    operationId: "twilioUpdateVerification",
    scope: "verifications:write",
    handle: (request) => update({ db, verifier }, request),
  },
  {
    method: "POST",
    path: `${SERVICE}/VerificationCheck`,
    operationId: "twilioCheckVerification",
    scope: "verifications:write",
    handle: (request) => check({ db, verifier }, request),
  },
];

function requireService({ credential, params, path }: TwilioRequest): void {
  if (params["ServiceSid"] !== verifyServiceSid(credential)) throw notFound(path);
}

/** Verify names the parameter that is not valid, or that it does not support. */
const invalid = (parameter: string): Problem => twilioProblem(60200, `Invalid parameter: ${parameter}`);

function requireParameters(parameters: TwilioParameters, known: readonly string[]): void {
  const unknown = [...parameters].find(([name, values]) => !known.includes(name) || values.length > 1);
  if (unknown !== undefined) throw invalid(unknown[0].slice(0, 40));
}

const CHANNELS: ReadonlySet<string> = new Set(["sms", "whatsapp"]);

async function start(verifier: Verifier, request: TwilioRequest): Promise<RouteResponse> {
  requireService(request);
  const { parameters, write } = request;
  requireParameters(parameters, ["To", "Channel"]);
  const [recipient, channel] = [valueOf(parameters, "To") ?? "", valueOf(parameters, "Channel") ?? ""];
  if (!isPhoneNumber(recipient)) throw invalid("To");
  if (!CHANNELS.has(channel)) throw invalid("Channel");
  const response = await verifier.start(write, { recipient, channel: channel as "sms" | "whatsapp" });
  return writeReply(response, 201, (record: VerificationRecord) => verificationResource(record, request));
}

/** The id of a SID, or of the latest verification of a number. */
async function findId({ db, verifier }: VerifyParts, { credential }: TwilioRequest, text: string): Promise<VerificationId | undefined> {
  if (!isPhoneNumber(text)) return verificationOfSid(text);
  const filter = { from: NIL_UUID, before: MAX_UUID, status: null, recipient: text };
  const { items } = await listPage(db, credential, filter, { limit: 1, nowMs: verifier.now() });
  return items[0]?.id;
}

/** Only a cancellation: Twilio approves by an update only codes that the client has sent itself. */
async function update(parts: VerifyParts, request: TwilioRequest): Promise<RouteResponse> {
  requireService(request);
  const { parameters, params, path, write } = request;
  requireParameters(parameters, ["Status"]);
  if (valueOf(parameters, "Status") !== "canceled") throw invalid("Status");
  const id = await findId(parts, request, params["Sid"] ?? "");
  if (id === undefined) throw notFound(path);
  const response = await parts.verifier.cancel(write, id);
  return writeReply(response, 200, (record: VerificationRecord) => verificationResource(record, request));
}

const CODE = /^\d{4,10}$/;

async function check(parts: VerifyParts, request: TwilioRequest): Promise<RouteResponse> {
  requireService(request);
  const { parameters, path, write } = request;
  requireParameters(parameters, ["To", "Code", "VerificationSid"]);
  const [to, sid, code] = [valueOf(parameters, "To"), valueOf(parameters, "VerificationSid"), valueOf(parameters, "Code") ?? ""];
  if (!CODE.test(code)) throw invalid("Code");
  if ((to === undefined) === (sid === undefined)) throw invalid(to === undefined ? "To" : "VerificationSid");
  if (to !== undefined && !isPhoneNumber(to)) throw invalid("To");
  const id = await findId(parts, request, to ?? sid ?? "");
  if (id === undefined) throw notFound(path);
  const response = await parts.verifier.check(write, id, code);
  return writeReply(response, 200, (record: VerificationRecord & { valid: boolean }) => checkResource(record, request));
}

const STATUSES: Readonly<Record<string, string>> = { failed: "max_attempts_reached" };

function verificationFields(record: VerificationRecord, { credential, accountSid }: TwilioRequest) {
  return {
    sid: verificationSid(idOf(record)),
    service_sid: verifyServiceSid(credential),
    account_sid: accountSid,
    to: record.recipient,
    channel: record.channels[0] ?? "sms",
    status: STATUSES[record.status] ?? record.status,
    valid: record.status === "approved",
    amount: null,
    payee: null,
    date_created: record.created_at,
    date_updated: record.updated_at,
  };
}

function idOf({ id: text }: VerificationRecord): VerificationId {
  const id = decodeId("ver", text);
  if (id === undefined) throw new Error("a record has the id of a verification");
  return id;
}

/** The attempt has the SID of the verification, with the letters of an attempt: there is one for each. */
function verificationResource(record: VerificationRecord, request: TwilioRequest) {
  const fields = verificationFields(record, request);
  const { sid, service_sid: service, channel } = fields;
  return {
    ...fields,
    lookup: {},
    send_code_attempts: [{ time: record.created_at, channel, attempt_sid: `VL${sid.slice(2)}` }],
    sna: null,
    url: `${request.baseUrl}${SERVICES}/${service}/Verifications/${sid}`,
  };
}

const checkResource = (record: VerificationRecord & { valid: boolean }, request: TwilioRequest) => ({
  ...verificationFields(record, request),
  valid: record.valid,
  sna_attempts_error_codes: [],
});

/** The service has the settings of Twilio that describe what Godwit does. */
function serviceResource({ credential, accountSid, baseUrl }: TwilioRequest) {
  const sid = verifyServiceSid(credential);
  const url = `${baseUrl}${SERVICES}/${sid}`;
  const createdAt = isoTime(uuidTimeMs(credential.accountId));
  return {
    sid,
    account_sid: accountSid,
    friendly_name: "Godwit",
    code_length: 6,
    lookup_enabled: false,
    psd2_enabled: false,
    skip_sms_to_landlines: false,
    dtmf_input_required: false,
    tts_name: null,
    do_not_share_warning_enabled: false,
    custom_code_enabled: false,
    push: null,
    totp: null,
    default_template_sid: null,
    whatsapp: null,
    passkeys: null,
    verify_event_subscription_enabled: false,
    date_created: createdAt,
    date_updated: createdAt,
    url,
    links: { verifications: `${url}/Verifications`, verification_checks: `${url}/VerificationCheck` },
  };
}
