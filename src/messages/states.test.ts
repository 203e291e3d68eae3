import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isFinished, mayBecome, OUTCOME_UNKNOWN, STATUSES, type StatusFields, type Status } from "./states.ts";

/** Written by hand from the contract, so that a mistake in the table of states is not repeated here. A plus is a permitted transition. The
 *  columns have the order of the first line. */
const TRANSITIONS: Readonly<Record<Status, string>> = {
  //          sched queued sending sent deliv read undel failed expir cancel received
  scheduled: "  +     +      .      .     .    .     .     .     .     +      .",
  queued: "     .     .      +      +     +    +     +     +     +     +      .",
  sending: "    .     +      .      +     +    +     +     +     +     .      .",
  sent: "       .     .      .      .     +    +     +     +     +     .      .",
  delivered: "  .     .      .      .     .    +     .     .     .     .      .",
  read: "       .     .      .      .     .    .     .     .     .     .      .",
  undelivered: ".     .      .      .     +    +     .     .     .     .      .",
  failed: "     .     .      .      .     .    .     .     .     .     .      .",
  expired: "    .     .      .      .     +    +     .     .     .     .      .",
  canceled: "   .     .      .      .     .    .     .     .     .     .      .",
  received: "   .     .      .      .     .    .     .     .     .     .      .",
};

/** Transitions that depend on more than the status. */
const GUARDED: readonly (readonly [why: string, statusFields: StatusFields, transitions: string])[] = [
  //                                                                 sched queued sending sent deliv read undel failed expir cancel received
  ["queued, not attempted", statusFields("queued", { attempts: 0 }), "    .     .      +      .     .    .     .     +     +     +      ."],
  ["failed with an unknown outcome", unknownFailure(), "       .     .      .      .     +    +     .     .     .     .      ."],
];

function statusFields(status: Status, fields: Partial<StatusFields> = {}): StatusFields {
  return { status, attempts: 1, error: null, ...fields };
}

function unknownFailure(): StatusFields {
  return statusFields("failed", { error: { code: OUTCOME_UNKNOWN } });
}

function check(from: StatusFields, transitions: string): void {
  const marks = transitions.trim().split(/ +/);
  assert.equal(marks.length, STATUSES.length);
  for (const [column, to] of STATUSES.entries()) {
    assert.equal(mayBecome(from, to), marks[column] === "+", `${from.status} → ${to}, with ${JSON.stringify(from)}`);
  }
}

describe("every pair of statuses", () => {
  assert.deepEqual(Object.keys(TRANSITIONS), [...STATUSES]);
  for (const status of STATUSES) test(`the transitions of ${status}`, () => check(statusFields(status), TRANSITIONS[status]));
  for (const [why, from, transitions] of GUARDED) test(`the transitions of a message that is ${why}`, () => check(from, transitions));
});

describe("the guards", () => {
  test("a carrier changes a queued message only after an attempt", () => {
    for (const said of ["sent", "delivered", "read", "undelivered"] as const) {
      assert.equal(mayBecome(statusFields("queued", { attempts: 0 }), said), false, said);
      assert.equal(mayBecome(statusFields("queued", { attempts: 7 }), said), true, said);
    }
  });

  test("a certain failure is not overridden, whatever its code", () => {
    for (const code of ["invalid_destination", "no_route", "temporarily_unavailable", "outcome_unknown_", ""])
      for (const late of ["delivered", "read"] as const)
        assert.equal(mayBecome(statusFields("failed", { error: { code } }), late), false, code);
  });

  test("the error of an earlier attempt does not stop a message that has not failed", () => {
    const error = { code: OUTCOME_UNKNOWN };
    assert.equal(mayBecome(statusFields("delivered", { error }), "read"), true);
    assert.equal(mayBecome(statusFields("delivered", { error }), "failed"), false);
    assert.equal(mayBecome(statusFields("undelivered", { error: { code: "blocked_by_carrier" } }), "delivered"), true);
  });

  test("attempts matter only for the status queued", () => {
    for (const from of STATUSES.filter((status) => status !== "queued"))
      for (const to of STATUSES)
        assert.equal(mayBecome(statusFields(from, { attempts: 0 }), to), mayBecome(statusFields(from), to), `${from} → ${to}`);
  });
});

describe("finished statuses", () => {
  const FINISHED: Readonly<Record<Status, boolean>> = {
    scheduled: false,
    queued: false,
    sending: false,
    sent: false,
    delivered: true,
    read: true,
    undelivered: true,
    failed: true,
    expired: true,
    canceled: true,
    received: true,
  };
  for (const status of STATUSES)
    test(`${status} is ${FINISHED[status] ? "" : "not "}finished`, () => assert.equal(isFinished(status), FINISHED[status]));
});
