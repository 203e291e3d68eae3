import assert from "node:assert/strict";
import promises, { Resolver } from "node:dns/promises";
import { syncBuiltinESMExports } from "node:module";
import { isIP } from "node:net";
import { afterEach, beforeEach, describe, mock, test } from "node:test";
import { createResolve } from "./resolve.ts";

type Found = { address: string; family: number }[];

test("localhost resolves", async () => {
  const addresses = await createResolve()("localhost");
  assert.ok(addresses.length > 0);
  for (const address of addresses) assert.ok(isIP(address) !== 0 && /^(127\.|::1$)/.test(address), address);
});

test("an invalid name has no address and throws nothing", async () => {
  assert.deepEqual(await createResolve()("x".repeat(300)), []);
});

describe("with slow look-ups", () => {
  /** A lookup by the system, and the callback that ends it. */
  let system: { name: string; answer: (found: Found) => void; fail: () => void }[];
  /** The records of the name servers. */
  let servers: Record<string, { a?: string[]; aaaa?: string[] }>;
  let questions: string[];

  beforeEach(() => {
    [system, servers, questions] = [[], {}, []];
    mock.method(promises, "lookup", (name: string) => {
      const { promise, resolve, reject } = Promise.withResolvers<Found>();
      system.push({ name, answer: resolve, fail: () => reject(new Error("ENOTFOUND")) });
      return promise;
    });
    const known = (kind: "a" | "aaaa") => async (name: string) => {
      questions.push(`${kind} ${name}`);
      return servers[name]?.[kind] ?? Promise.reject(new Error("ENODATA"));
    };
    mock.method(Resolver.prototype, "resolve4", known("a"));
    mock.method(Resolver.prototype, "resolve6", known("aaaa"));
    syncBuiltinESMExports();
  });
  afterEach(() => {
    mock.restoreAll();
    syncBuiltinESMExports();
  });
  const turn = (): Promise<void> => new Promise(setImmediate);
  const asked = (): string[] => system.map(({ name }) => name);

  test("a name in DNS never waits for the look-up of the system", async () => {
    servers = {
      "a.example": { a: ["1.1.1.1", "1.1.1.2"], aaaa: ["2606::1"] },
      "b.example": { a: ["2.2.2.2"] },
      "c.example": { aaaa: ["2606::3"] },
    };
    const resolve = createResolve();
    const hanging = ["one", "two", "three"].map((name) => resolve(name));
    assert.deepEqual(await resolve("a.example"), ["1.1.1.1", "1.1.1.2", "2606::1"]);
    assert.deepEqual(await resolve("b.example"), ["2.2.2.2"]);
    assert.deepEqual(await resolve("c.example"), ["2606::3"]);
    assert.deepEqual(asked(), ["one", "two"], "two at a time");
    for (let index = 0; index < hanging.length; index += 1) {
      system[index]?.answer([]);
      await turn();
    }
    assert.deepEqual(await Promise.all(hanging), [[], [], []]);
  });

  test("a name that DNS does not have uses the look-up of the system, a name of one word at once", async () => {
    const resolve = createResolve();
    const [dotted, single] = [resolve("box.home"), resolve("box")];
    await turn();
    assert.deepEqual(asked().toSorted(), ["box", "box.home"]);
    assert.deepEqual(questions, ["a box.home", "aaaa box.home"]);
    for (const { answer } of system) answer([{ address: "10.0.0.9", family: 4 }]);
    assert.deepEqual(await Promise.all([dotted, single]), [["10.0.0.9"], ["10.0.0.9"]]);
  });

  test("waiting look-ups run in order, after a success and after a failure", async () => {
    const resolve = createResolve();
    const names = ["one", "two", "three", "four", "five"];
    const answers = names.map((name) => resolve(name));
    for (const [index, name] of names.entries()) {
      assert.deepEqual(asked(), names.slice(0, index + 2), `before ${name} is answered`);
      if (index % 2 === 0) system[index]?.fail();
      else system[index]?.answer([{ address: `10.0.0.${index}`, family: 4 }]);
      await turn();
    }
    assert.deepEqual(await Promise.all(answers), [[], ["10.0.0.1"], [], ["10.0.0.3"], []]);
  });

  test("simultaneous requests for a name share one look-up, which is not cached", async () => {
    const resolve = createResolve();
    const answers = Array.from({ length: 100 }, () => resolve("box"));
    assert.deepEqual(asked(), ["box"]);
    system[0]?.answer([{ address: "10.0.0.1", family: 4 }]);
    assert.deepEqual(
      await Promise.all(answers),
      Array.from({ length: 100 }, () => ["10.0.0.1"]),
    );

    const again = resolve("box");
    assert.deepEqual(asked(), ["box", "box"]);
    system[1]?.answer([{ address: "10.0.0.2", family: 4 }]);
    assert.deepEqual(await again, ["10.0.0.2"]);

    servers = { "a.example": { a: ["1.1.1.1"] } };
    await Promise.all(Array.from({ length: 100 }, () => resolve("a.example")));
    assert.deepEqual(questions, ["a a.example", "aaaa a.example"]);
  });

  test("a failed look-up is shared and not cached either", async () => {
    const resolve = createResolve();
    const answers = [resolve("box"), resolve("box")];
    system[0]?.fail();
    assert.deepEqual(await Promise.all(answers), [[], []]);
    const again = resolve("box");
    system[1]?.answer([{ address: "10.0.0.1", family: 4 }]);
    assert.deepEqual(await again, ["10.0.0.1"]);
  });
});
