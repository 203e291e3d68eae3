/** The schema of events: each known type has one form, and a type of a later version fits the last one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020, type AnySchema } from "ajv/dist/2020.js";
import { Event, EVENT_TYPES, eventText } from "./event.ts";
import { newId } from "../model/id.ts";

const { anyOf: forms } = Event as unknown as { anyOf: { title: string }[] };
const ajv = new Ajv2020({ strict: false });
ajv.addFormat("date-time", true);
for (const name of ["Message", "Suppression", "Template", "Batch", "Media", "WebhookEndpoint", "AuditEvent"])
  ajv.addSchema({ type: "object", required: ["id"] }, `#/components/schemas/${name}`);
const validators = forms.map((form) => ({ title: form.title, validate: ajv.compile(form as AnySchema) }));

const eventOf = (type: string, record = `{"id":"1"}`): object =>
  JSON.parse(
    eventText({
      id: newId("evt", 1),
      environment: "test",
      type,
      record,
      sequence: 1,
      previous_status: null,
      fallback_message_id: type === "message.fallback_started" ? "msg_1" : null,
    }),
  ) as object;

const formsOf = (event: object): string[] => validators.filter(({ validate }) => validate(event) === true).map(({ title }) => title);

test("every event fits exactly one form, which is that of its type", () => {
  for (const type of EVENT_TYPES) {
    const fitting = formsOf(eventOf(type));
    assert.equal(fitting.length, 1, `${type}: ${fitting.join()}`);
    assert.notEqual(fitting[0], "OtherEvent", type);
  }
});

test("an event of a type that a later version adds fits, and a known one with wrong data does not", () => {
  assert.deepEqual(formsOf(eventOf("message.reacted")), ["OtherEvent"]);
  assert.deepEqual(formsOf(eventOf("message.sent", "{}")), []);
});
