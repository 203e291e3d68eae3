/** The documents in which carriers describe their APIs, where they are at hand: tests check the fakes and our requests against them. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse } from "yaml";

export type Published = { path: string; skip: false | string };

const published = (name: string): Published => {
  const path = join(import.meta.dirname, "..", "..", "..", "shared", "reference", "published", name);
  return { path, skip: existsSync(path) ? false : `${path} is not there` };
};

export const PUBLISHED_WHATSAPP = published("whatsapp-business-messaging-v23.0.yaml");
export const PUBLISHED_TWILIO = published("twilio_api_v2010.json");

export const readPublished = ({ path }: Published): Record<string, unknown> => parse(readFileSync(path, "utf8")) as Record<string, unknown>;

/** Asserts that a value fits a schema of the document. Numbers fit texts: the description of places has texts, and its examples numbers. */
export function publishedSchemas(document: Published): (schema: string, value: unknown) => void {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false, coerceTypes: true });
  ajv.addSchema(readPublished(document), "published");
  return (schema, value) => {
    const validate = ajv.compile({ $ref: `published#/components/schemas/${schema}` });
    assert.ok(validate(structuredClone(value)), `${schema}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(value)}`);
  };
}
