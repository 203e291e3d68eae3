import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DatabaseServers, serverUrls } from "./database-servers.ts";

describe("the servers of a URL", () => {
  for (const [url, expected] of [
    ["postgres://u:p@one/db", ["postgres://u:p@one/db"]],
    ["postgres://u:p@one/db?target_session_attrs=read-write", ["postgres://u:p@one/db?target_session_attrs=read-write"]],
    [
      "postgresql://u:p%40@one:5433,two/db?target_session_attrs=read-write&sslrootcert=/ca.pem",
      ["postgresql://u:p%40@one:5433/db?sslrootcert=%2Fca.pem", "postgresql://u:p%40@two/db?sslrootcert=%2Fca.pem"],
    ],
    ["postgres://[::1]:5432,[fd00::1]/db?target_session_attrs=primary", ["postgres://[::1]:5432/db?", "postgres://[fd00::1]/db?"]],
    ["postgres://u@/db?host=/run/a,/run/b", ["postgres://u@/db?host=%2Frun%2Fa", "postgres://u@/db?host=%2Frun%2Fb"]],
    ["postgres://u@/db?host=a,b&port=1,2", ["postgres://u@/db?host=a&port=1", "postgres://u@/db?host=b&port=2"]],
    ["postgres://u@a,b/db?port=1,2", ["postgres://u@a/db?port=1", "postgres://u@b/db?port=2"]],
    ["postgres://u@/db?host=a,b&port=1", ["postgres://u@/db?host=a&port=1", "postgres://u@/db?host=b&port=1"]],
  ] as const)
    test(url, () => assert.deepEqual(serverUrls(url), expected));

  for (const [url, message] of [
    ["postgres://u@one,,two/db", "a host of the list is empty or contains a space"],
    ["postgres://u@one, two/db", "a host of the list is empty or contains a space"],
    ["postgres://u@/db?host=a,b,c&port=1,2", "hosts: 3, but ports: 2"],
    ["postgres://u@one/db?port=1,2", "hosts: 1, but ports: 2"],
    ["postgres://u@one,two/db?target_session_attrs=standby", "target_session_attrs=standby is not read-write or primary"],
  ] as const)
    test(`${url} is refused`, () => assert.throws(() => serverUrls(url), { message }));
});

describe("the primary", () => {
  test("is the server whose probe succeeds, although another one never responds", async () => {
    const servers = new DatabaseServers(3, (position) => {
      if (position === 2) return Promise.resolve();
      return position === 0 ? Promise.reject(new Error("is a standby")) : new Promise(() => undefined);
    });
    await servers.find();
    assert.equal(servers.current, 2);
  });

  test("is found when it is promoted while another server does not respond", async () => {
    let probes = 0;
    const servers = new DatabaseServers(2, (position) => {
      if (position === 0) return new Promise(() => undefined);
      probes += 1;
      return probes < 3 ? Promise.reject(new Error("is a standby")) : Promise.resolve();
    });
    await servers.find();
    assert.deepEqual([servers.current, probes], [1, 3]);
  });

  test("is lost after a search in vain, until it is found", async () => {
    let isAway = true;
    const servers = new DatabaseServers(2, () => (isAway ? Promise.reject(new Error("is away")) : Promise.resolve()));
    assert.equal(servers.isLost, false);
    await assert.rejects(servers.find());
    assert.equal(servers.isLost, true);
    isAway = false;
    await servers.find();
    assert.equal(servers.isLost, false);
  });

  test("is looked for once by many at the same time", async () => {
    let probes = 0;
    const servers = new DatabaseServers(2, async () => void (probes += 1));
    await Promise.all([servers.find(), servers.find(), servers.find()]);
    assert.equal(probes, 2);
  });

  test("stays the same where no server can be used, with the reasons of all", async () => {
    const servers = new DatabaseServers(2, (position) => Promise.reject(new Error(`server ${position} is away`)));
    await assert.rejects(servers.find(), (error) => {
      assert.ok(error instanceof AggregateError);
      assert.deepEqual(
        error.errors.map(({ message }: Error) => message),
        ["server 0 is away", "server 1 is away"],
      );
      return true;
    });
    assert.equal(servers.current, 0);
  });

  test("is not a server on an earlier timeline than one seen before", () => {
    const servers = new DatabaseServers(2, () => Promise.resolve());
    const note = (number: number, mark: string | null = null): void => servers.noteTimeline({ number, mark });
    note(1);
    note(3);
    note(3, "a");
    note(3);
    note(3, "a");
    assert.throws(() => note(3, "b"), /timeline 3 with another history: it was the primary before a failover/);
    assert.throws(() => note(2), /timeline 2, and timeline 3 has begun: it was the primary before a failover/);
    assert.equal(servers.timeline, 3);
  });
});
