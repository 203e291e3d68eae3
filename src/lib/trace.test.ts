import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { childOf, isSampled, newTrace, readTrace, sampledChildOf, spanIdOf, traceHeaders, traceIdOf } from "./trace.ts";

const ID = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const PARENT = `00-${ID}-${SPAN}-01`;

describe("a traceparent", () => {
  const accepted: readonly (readonly [what: string, header: string, kept: string])[] = [
    ["of version 00 is accepted", PARENT, PARENT],
    ["that is not sampled stays unsampled", `00-${ID}-${SPAN}-00`, `00-${ID}-${SPAN}-00`],
    ["keeps the flag of random ids", `00-${ID}-${SPAN}-03`, `00-${ID}-${SPAN}-03`],
    ["loses unknown flags", `00-${ID}-${SPAN}-fd`, PARENT],
    ["of a later version is read as version 00", `01-${ID}-${SPAN}-01`, PARENT],
    ["of a later version may have more fields", `cc-${ID}-${SPAN}-01-what-the-future-brings`, PARENT],
    ["may have blanks around it", ` ${PARENT}\t`, PARENT],
  ];
  for (const [what, traceparent, kept] of accepted) test(what, () => assert.equal(readTrace({ traceparent }), kept));

  const ignored: readonly (readonly [what: string, header: string])[] = [
    ["empty", ""],
    ["without flags", `00-${ID}-${SPAN}`],
    ["in upper case", PARENT.toUpperCase()],
    ["with a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["with a span of zeros", `00-${ID}-${"0".repeat(16)}-01`],
    ["of version ff", `ff-${ID}-${SPAN}-01`],
    ["of version 00 with more fields", `${PARENT}-more`],
    ["of a later version without a dash before more fields", `01-${ID}-${SPAN}-01more`],
    ["with a short trace", `00-${ID.slice(1)}-${SPAN}-01`],
    ["with a long trace", `00-${ID}0-${SPAN}-01`],
    ["with a character that is not hexadecimal", `00-${ID.replace("4", "g")}-${SPAN}-01`],
    ["given twice", `${PARENT}, ${PARENT}`],
    ["with another line", `${PARENT}\nx`],
  ];
  for (const [what, traceparent] of ignored) test(`${what} is ignored`, () => assert.equal(readTrace({ traceparent }), undefined));

  test("that is absent or repeated is ignored", () => {
    assert.equal(readTrace({}), undefined);
    assert.equal(readTrace({ traceparent: [PARENT, PARENT] }), undefined);
    assert.equal(readTrace({ tracestate: "a=1" }), undefined);
  });

  test("of random text never throws, and an accepted one is well formed", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (traceparent, tracestate) => {
        const trace = readTrace({ traceparent, tracestate });
        assert.ok(trace === undefined || /^00-[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]( |$)/.test(trace));
      }),
    );
  });
});

describe("a tracestate", () => {
  const stateFor = (tracestate: string | undefined): string | undefined => {
    const trace = readTrace({ traceparent: PARENT, tracestate });
    assert.ok(trace !== undefined, "the parent is accepted in any case");
    return traceHeaders(trace)["tracestate"];
  };
  test("is passed on unchanged", () =>
    assert.equal(stateFor("rojo=00f067aa0ba902b7,congo@v=t61rcWkgMzE"), "rojo=00f067aa0ba902b7,congo@v=t61rcWkgMzE"));
  test("may have blanks and empty members", () => assert.equal(stateFor("a=1 , ,\tb=2 3,"), "a=1,b=2 3"));
  for (const bad of [
    "",
    "a",
    "A=1",
    "a=",
    "a=1,a=2",
    "a=\u0007",
    "a=é",
    "a=1\r\nx: y",
    `a=${"x".repeat(511)}`,
    Array.from({ length: 33 }, (_, at) => `k${at}=1`).join(),
  ])
    test(`that is ${JSON.stringify(bad.slice(0, 20))} is dropped`, () => assert.equal(stateFor(bad), undefined));
  test("of the longest form is kept", () => assert.equal(stateFor(`a=${"x".repeat(250)},b=${"y".repeat(250)}`)?.length, 505));
});

describe("a span", () => {
  const trace = readTrace({ traceparent: `00-${ID}-${SPAN}-00`, tracestate: "a=1" });
  assert.ok(trace !== undefined);
  test("of a trace has a new id and keeps the rest of the trace", () => {
    const child = childOf(trace);
    assert.match(child, new RegExp(`^00-${ID}-[0-9a-f]{16}-00 a=1$`));
    assert.notEqual(spanIdOf(child), SPAN);
    assert.equal(traceIdOf(child), ID);
    assert.equal(isSampled(child), false);
  });
  test("that is recorded is marked as sampled", () => assert.equal(isSampled(sampledChildOf(trace)), true));
  test("that begins a trace is well formed", () => {
    const created = newTrace();
    assert.equal(readTrace(traceHeaders(created)), created);
    assert.equal(isSampled(created), true);
  });
});
