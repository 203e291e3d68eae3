import assert from "node:assert/strict";
import { test } from "node:test";
import type { Channel } from "../links/channel.ts";
import { review } from "./review.ts";
import type { Environment } from "../storage/owner.ts";

const SMS: readonly Channel[] = ["sms"];
const BOTH: readonly Channel[] = ["sms", "whatsapp"];
const WHATSAPP: readonly Channel[] = ["whatsapp"];

const ROWS: readonly (readonly [environment: Environment, channels: readonly Channel[], name: string, status: string])[] = [
  ["test", SMS, "order", "approved"],
  ["live", SMS, "order", "approved"],
  ["test", SMS, "simulate_rejected", "approved"],
  ["live", SMS, "simulate_rejected", "approved"],
  ["test", BOTH, "order", "approved"],
  ["test", WHATSAPP, "order", "approved"],
  ["test", WHATSAPP, "simulate_rejected", "rejected"],
  ["test", BOTH, "simulate_rejected_twice", "rejected"],
  ["test", WHATSAPP, "simulate_paused", "paused"],
  ["test", BOTH, "simulate_paused_2", "paused"],
  ["test", WHATSAPP, "simulate_pending", "pending"],
  ["test", BOTH, "simulate_pending_for_long", "pending"],
  ["test", BOTH, "not_simulate_rejected", "approved"],
  ["test", BOTH, "simulate_", "approved"],
  ["live", BOTH, "order", "pending"],
  ["live", WHATSAPP, "simulate_rejected", "pending"],
  ["live", WHATSAPP, "simulate_paused", "pending"],
];

for (const [environment, channels, name, status] of ROWS) {
  test(`in ${environment}, ${name} for ${channels.join(" and ")} is ${status}`, () => {
    const { status: found, statusReason } = review({ environment, channels, name });
    assert.equal(found, status);
    assert.equal(statusReason !== null, status === "rejected" || status === "paused");
  });
}
