/** The parts of the OpenAPI document that the API reference shows. */
export type Schema = {
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  enum?: readonly unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  uniqueItems?: boolean;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
};

type Reference = { $ref: string };
export type Parameter = {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  description?: string;
  example?: string | number;
  schema: Schema;
};
type Media = { schema: Schema; example?: unknown; examples?: Readonly<Record<string, unknown>> };
export type Content = Readonly<Record<string, Media>>;
export type Response = { description: string; headers?: Readonly<Record<string, unknown>>; content?: Content };
export type Operation = {
  operationId: string;
  summary: string;
  description: string;
  tags: readonly string[];
  security: readonly Readonly<Record<string, unknown>>[];
  parameters: readonly Parameter[];
  requestBody?: { content: Content };
  responses: Readonly<Record<string, Response | Reference>>;
};
export type OpenApiDocument = {
  info: { description: string };
  tags: readonly { name: string; description: string }[];
  "x-tagGroups": readonly { name: string; tags: readonly string[] }[];
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  webhooks: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  components: {
    schemas: Readonly<Record<string, Schema>>;
    responses: Readonly<Record<string, Response>>;
    headers: Readonly<Record<string, { description: string }>>;
    examples: Readonly<Record<string, { summary: string; value: unknown }>>;
  };
};
