/** A request of the API with its response, as the server reports it to the request log. */
import type { RequestId } from "./id.ts";

export type AnsweredRequest = {
  id: RequestId;
  /** The name of the operation in the OpenAPI document. */
  operation: string;
  method: string;
  /** The path with names for its parameters, such as `/v1/messages/:id`. */
  route: string;
  params: Readonly<Record<string, string>>;
  query: Readonly<Record<string, unknown>>;
  status: number;
  tookMs: number;
  isReplay: boolean;
  peer: string;
  userAgent: string | undefined;
  requestBytes: number;
  responseBytes: number;
  /** The id, as text, of the message that the request created or named. */
  messageId: string | undefined;
  /** The body of a request that was refused, and that of its response. */
  refused: { body: Buffer | undefined; problem: string } | undefined;
};
