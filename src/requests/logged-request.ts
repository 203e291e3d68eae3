/** A request of the API in the request log: its row, and its record in the API. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId, type AccountId, type KeyId, type MessageId, type RequestId } from "../model/id.ts";
import type { Environment } from "../model/owner.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";

type LoggedFault = { pointer?: string; parameter?: string; header?: string; code?: string; detail?: string };

export type LoggedRequest = {
  account_id: AccountId;
  environment: Environment;
  id: RequestId;
  key_id: KeyId;
  credential: "key" | "token";
  key_name: string | null;
  operation: string;
  method: string;
  path: string;
  status: number;
  code: string | null;
  is_replay: boolean;
  duration_us: number;
  request_bytes: number;
  response_bytes: number;
  peer: string;
  user_agent: string | null;
  message_id: MessageId | null;
  problem: { detail: string; errors: readonly LoggedFault[] } | null;
  body: string | null;
};

const optionalText = (description: string) => Type.Optional(Type.String({ description }));

export const RequestRecord = Type.Object(
  {
    id: Type.String({
      examples: ["req_01k9zs3v8mf4tb2xg1qj6n0d5c"],
      description: "The id of the request, as in the header `X-Request-Id`.",
    }),
    object: Type.Literal("request"),
    created_at: timestamp("The time at which the request began."),
    key: Type.Object(
      {
        id: Type.String({ examples: ["key_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the key." }),
        name: nullable(Type.String({ description: "The name of the key at that time." })),
        type: openEnum(["key", "token"], "Whether the request had the key itself, or an access token of the key."),
      },
      { description: "The credential of the request." },
    ),
    operation: Type.String({ examples: ["sendMessage"], description: "The operation, as the OpenAPI document names it." }),
    method: Type.String({ examples: ["POST"], description: "The method." }),
    path: Type.String({
      examples: ["/v1/messages"],
      description: "The path and the query. Values that may concern a person are masked.",
    }),
    status: Type.Integer({
      examples: [400],
      description: "The status of the response. 499: the client disconnected before the end of the response.",
    }),
    code: nullable(Type.String({ examples: ["invalid_request_payload"], description: "The error code. Null without an error." })),
    idempotent_replayed: Type.Boolean({ description: "Whether the response was the stored one of the first request with the same key." }),
    duration_ms: Type.Number({ description: "The time from the first byte of the request to the last byte of the response." }),
    request_bytes: Type.Integer({ description: "The size of the body of the request." }),
    response_bytes: Type.Integer({ description: "The size of the body of the response." }),
    peer: Type.String({ examples: ["192.0.2.7"], description: "The address that the request came from." }),
    user_agent: nullable(Type.String({ description: "The program that sent the request, as it named itself." })),
    message_id: nullable(Type.String({ description: "The message that the request created or named." })),
    problem: nullable(
      Type.Object(
        {
          detail: Type.String({ description: "What was wrong." }),
          errors: Type.Array(
            Type.Object({
              pointer: optionalText("The place in the body."),
              parameter: optionalText("The name of the parameter."),
              header: optionalText("The name of the header."),
              code: optionalText("The kind of fault."),
              detail: optionalText("What was wrong there."),
            }),
            { description: "The first faults." },
          ),
        },
        { description: "The refusal, with masked numbers. Null without an error." },
      ),
    ),
    body: nullable(
      Type.String({
        examples: ['{"recipient":"[12 characters]","channel":"sms","body":"[20 characters]"}'],
        description:
          "The body of a refused request, with masked values and shortened. Null if the request was not refused, or had no JSON or more than 16 kB.",
      }),
    ),
  },
  { title: "LoggedRequest", description: "A request of the API, and its response." },
);
export type RequestRecord = Static<typeof RequestRecord>;

export const requestRecord = (row: LoggedRequest): RequestRecord => ({
  id: encodeId("req", row.id),
  object: "request",
  created_at: isoTime(uuidTimeMs(row.id)),
  key: { id: encodeId("key", row.key_id), name: row.key_name, type: row.credential },
  operation: row.operation,
  method: row.method,
  path: row.path,
  status: row.status,
  code: row.code,
  idempotent_replayed: row.is_replay,
  duration_ms: row.duration_us / 1_000,
  request_bytes: row.request_bytes,
  response_bytes: row.response_bytes,
  peer: row.peer,
  user_agent: row.user_agent,
  message_id: row.message_id && encodeId("msg", row.message_id),
  problem: row.problem && { detail: row.problem.detail, errors: [...row.problem.errors] },
  body: row.body,
});
