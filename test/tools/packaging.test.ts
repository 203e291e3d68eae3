/** The files around the package: unit, image, compose file, dashboard and alerts. All of them must refer to existing names. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { parser } from "@prometheus-io/lezer-promql";
import { parse as parseYaml } from "yaml";
import { DASHBOARD_PATH, dashboardText } from "../../scripts/dashboard.ts";
import { addressSet, parseCidr } from "../../src/lib/addresses.ts";
import { SETTINGS } from "../../src/settings.ts";
import { socketDir } from "../../src/embedded/data-directory.ts";
import { VERSION } from "../../src/version.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const read = (...path: string[]): string => readFileSync(join(ROOT, ...path), "utf8");
const isInstalled = (program: string): boolean => spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;
const needs = (program: string): string | false => !isInstalled(program) && `${program} is not installed`;

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "godwit-packaging-"));
  // Otherwise the databases of root's services would be in /var/lib/godwit, and stay there.
  chmodSync(folder, 0o755);
});
after(() => rmSync(folder, { recursive: true, force: true }));

describe("dashboard and alerts", () => {
  type Alert = { alert: string; expr: string; labels: { severity: string }; annotations: { summary: string; description: string } };
  const { groups } = parseYaml(read("packaging", "prometheus-alerts.yml")) as { groups: { rules: Alert[] }[] };
  const alerts = groups.flatMap(({ rules }) => rules);
  const { panels } = JSON.parse(dashboardText()) as { panels: { title: string; targets?: { expr: string }[] }[] };
  const expressions = [
    ...alerts.map(({ alert, expr }) => ({ where: alert, expr })),
    ...panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ where: title, expr: expr.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*") })),
    ),
  ];
  // From Prometheus itself, or added by it.
  const NOT_OURS = new Set(["up"]);
  // Only with GODWIT_READ_URL; test/faults/standby-reads.test.ts reads them.
  const OF_STANDBY = /^godwit_standby_(up|lag_seconds|reads_total)$/;
  const ADDED_LABELS = new Set(["job", "instance", "le"]);

  /** The metrics and labels that an expression names. Fails if the expression is not PromQL. */
  function namesIn(expr: string): { metrics: string[]; labels: string[] } {
    const names = { metrics: [] as string[], labels: [] as string[] };
    parser.parse(expr).iterate({
      enter({ type, from, to }) {
        assert.ok(!type.isError, `no PromQL at ${from}: ${expr}`);
        if (type.name === "Identifier") names.metrics.push(expr.slice(from, to));
        if (type.name === "LabelName") names.labels.push(expr.slice(from, to));
      },
    });
    return names;
  }

  let metricsText: string;
  before(async () => {
    const [dataDir, archive] = [join(folder, "data"), join(folder, "archive")];
    mkdirSync(archive);
    // Two workers, because a supervisor has metrics of its own.
    const env = { GODWIT_DATA_DIR: dataDir, GODWIT_ARCHIVE: archive, GODWIT_WORKERS: "2" };
    const godwit = await startGodwit({ env, roles: "api,dispatch,webhooks" });
    const key = /gw_test_\w+/.exec(godwit.output.join("\n"))?.[0] ?? "";
    assert.equal((await godwit.send(key)).status, 202);
    metricsText = (await godwit.request("GET", "/metrics")).text;
    await godwit.stop();
  });

  test("name only metrics of a running service", () => {
    const known = new Set(
      Array.from(metricsText.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name = "", type]) =>
        type === "histogram" ? ["bucket", "sum", "count"].map((part) => `${name}_${part}`) : [name],
      ).flat(),
    );
    assert.ok(known.size > 40);
    const unknown = expressions.flatMap(({ where, expr }) =>
      namesIn(expr)
        .metrics.filter((name) => !known.has(name) && !NOT_OURS.has(name) && !OF_STANDBY.test(name))
        .map((name) => `${where}: ${name}`),
    );
    assert.deepEqual(unknown, []);
  });

  test("name only labels of those metrics", () => {
    const labels = new Map<string, Set<string>>();
    for (const [, name = "", inner = ""] of metricsText.matchAll(/^(\w+)\{(.*)\} /gm))
      labels.set(name, (labels.get(name) ?? new Set()).union(new Set(Array.from(inner.matchAll(/(\w+)="/g), ([, label = ""]) => label))));
    const wrong = expressions.flatMap(({ where, expr }) => {
      const names = namesIn(expr);
      // A metric without counts shows no labels.
      if (!names.metrics.every((name) => labels.has(name))) return [];
      const known = names.metrics.reduce((all, name) => all.union(labels.get(name) ?? new Set()), ADDED_LABELS);
      return names.labels.filter((label) => !known.has(label)).map((label) => `${where}: ${label}`);
    });
    assert.deepEqual(wrong, []);
  });

  test("include every metric of ours in the dashboard", () => {
    const shown = expressions.flatMap(({ expr }) => namesIn(expr).metrics).join(" ");
    const missing = Array.from(metricsText.matchAll(/^# TYPE (godwit_\w+) /gm), ([, name = ""]) => name).filter(
      (name) => !shown.includes(name),
    );
    assert.deepEqual(missing, []);
  });

  test("have a severity, a summary and an action for every alert", () => {
    for (const { alert, labels, annotations } of alerts) {
      assert.match(labels.severity, /^(critical|warning)$/, alert);
      for (const text of [annotations.summary, annotations.description]) assert.ok(text.length > 20, alert);
    }
    assert.equal(new Set(alerts.map(({ alert }) => alert)).size, alerts.length);
  });

  test("match the script that writes the dashboard", () => {
    assert.equal(readFileSync(DASHBOARD_PATH, "utf8"), dashboardText(), "run npm run dashboard");
  });

  test("have valid rules according to promtool, and their tests pass", { skip: needs("promtool") }, () => {
    for (const args of [
      ["check", "rules", "prometheus-alerts.yml"],
      ["test", "rules", "prometheus-alerts.test.yml"],
    ]) {
      const { status, stdout, stderr } = spawnSync("promtool", args, { cwd: join(ROOT, "packaging"), encoding: "utf8", timeout: 30_000 });
      assert.equal(status, 0, stdout + stderr);
    }
  });
});

describe("the systemd unit", () => {
  const unit = read("packaging", "godwit.service");
  const value = (name: string): string | undefined => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1];

  test("leaves time for a graceful stop, stops the program first, and does not restart after a configuration error", () => {
    assert.ok(Number(value("TimeoutStopSec")) > 30);
    assert.equal(value("KillMode"), "mixed");
    assert.equal(value("ExecReload"), "/bin/sh -c 'kill -HUP $MAINPID'");
    assert.equal(value("RestartPreventExitStatus"), "2");
    // The start of a faulty configuration fails, and a long one is not ended.
    assert.deepEqual([value("Type"), value("NotifyAccess"), value("TimeoutStartSec")], ["notify", "all", "infinity"]);
    for (const name of ["NoNewPrivileges", "PrivateTmp", "ProtectHome"]) assert.equal(value(name), "yes", name);
    assert.equal(value("ProtectSystem"), "strict");
    assert.equal(value("MemoryDenyWriteExecute"), undefined);
  });

  test("limits memory, processes and capabilities, with room for the embedded database", () => {
    assert.match(value("MemoryMax") ?? "", /^\d+G$/);
    assert.ok(Number(value("TasksMax")) > 160);
    assert.equal(value("CapabilityBoundingSet"), "");
  });

  test("is valid according to systemd", { skip: needs("systemd-analyze") }, () => {
    // systemd-analyze looks for the program, which is not installed here.
    const copy = join(folder, "godwit.service");
    writeFileSync(copy, unit.replace("/opt/godwit/bin/godwit", "/bin/true"));
    const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", copy], { encoding: "utf8", timeout: 30_000 });
    // Reports about other units of the machine are ignored.
    const ours = `${stdout}${stderr}`.split("\n").filter((line) => line.includes("godwit"));
    assert.deepEqual([status, ours], [0, []]);
  });
});

describe("image and compose file", () => {
  type Service = {
    image: string;
    environment: Record<string, string>;
    ports?: string[];
    user?: string;
    read_only?: boolean;
    restart: string;
    cap_drop: string[];
    cap_add?: string[];
    security_opt: string[];
    mem_limit: string;
    pids_limit: number;
    network_mode?: string;
    command?: string[];
    networks?: string[] | Record<string, { ipv4_address: string }>;
    env_file?: { path: string; required: boolean }[];
    volumes: (string | { source: string; target: string; read_only: boolean })[];
  };
  const compose = parseYaml(read("compose.yaml")) as {
    services: Record<"godwit-1" | "godwit-2" | "caddy" | "postgres", Service>;
    networks: Record<string, { ipam: { config: { subnet: string; gateway: string; ip_range: string }[] } }>;
    volumes: Record<string, unknown>;
    secrets?: object;
  };
  const { "godwit-1": node, "godwit-2": secondNode, caddy, postgres } = compose.services;
  /** The text with the default of each variable. */
  const withDefaults = (text: string): string => text.replaceAll(/\$\{\w+:-([^}]+)\}/g, "$1");
  const dockerfile = read("Dockerfile");
  const ignored = read(".dockerignore").split("\n");
  const example = read(".env.example");

  test("copy only existing files that are sent to the builder", () => {
    const copied = Array.from(dockerfile.matchAll(/^COPY (?!--from)(\S+) /gm), ([, path = ""]) => path);
    assert.deepEqual(copied, [".", "packaging/healthcheck.mjs"]);
    const sent = ignored.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
    for (const path of sent) assert.ok(existsSync(join(ROOT, path)), path);
    assert.deepEqual(
      ignored.find((line) => !line.startsWith("#")),
      "*",
    );
    const { scripts, files, bin } = JSON.parse(read("package.json")) as {
      scripts: { build: string };
      files: string[];
      bin: { godwit: string };
    };
    for (const path of [...files.filter((file) => file !== "dist"), bin.godwit, scripts.build.replace("node ", ""), "src", "packaging"])
      assert.ok(
        sent.some((known) => path === known || path.startsWith(`${known}/`)),
        path,
      );
  });

  test("run as an unprivileged user on the oldest supported Node", () => {
    const { engines } = JSON.parse(read("package.json")) as { engines: { node: string } };
    const bases = Array.from(dockerfile.matchAll(/^FROM ([^\s@]+)/gm), ([, base]) => base);
    assert.deepEqual(new Set(bases), new Set([`node:${engines.node.replace(">=", "")}-slim`]));
    assert.match(dockerfile, /^USER 10001:10001$/m);
    assert.match(dockerfile, /^ENTRYPOINT \["godwit"\]$/m);
  });

  test("set only existing settings, and so does the unit", () => {
    const known = new Set<string>(Object.values(SETTINGS).map(({ env }) => env));
    const image = /^ENV (.+)$/m.exec(dockerfile)?.[1]?.match(/\w+(?==)/g) ?? [];
    const unit = /^Environment=(.+)$/m.exec(read("packaging", "godwit.service"))?.[1]?.match(/\w+(?==)/g) ?? [];
    assert.ok(image.length > 3 && unit.length > 1);
    const all = [...image, ...unit, ...Object.keys(node.environment)];
    assert.deepEqual(
      all.filter((name) => !known.has(name) && name !== "NODE_ENV"),
      [],
    );
  });

  test("contain no secret, and name the required ones", () => {
    assert.match(
      node.environment["DATABASE_URL"] ?? "",
      /^postgres:\/\/godwit:\$\{POSTGRES_PASSWORD:\?[^}]+\}@\/godwit\?host=\/var\/run\/postgresql$/,
    );
    assert.match(node.environment["GODWIT_SECRET_KEY"] ?? "", /^\$\{GODWIT_SECRET_KEY:\?[^}]+\}$/);
    assert.match(postgres.environment["POSTGRES_PASSWORD"] ?? "", /^\$\{POSTGRES_PASSWORD:\?[^}]+\}$/);
    // Compose refuses a secret from the environment beside `read_only`.
    assert.equal(compose.secrets, undefined);
    for (const name of ["POSTGRES_PASSWORD", "GODWIT_SECRET_KEY", "GODWIT_DOMAIN"])
      assert.match(example, new RegExp(`^${name}=$`, "m"), "empty in the example");
    const variables = Array.from(read("compose.yaml").matchAll(/\$\{(\w+)/g), ([, name = ""]) => name);
    for (const name of variables) assert.match(example, new RegExp(`^#?${name}=`, "m"), name);
    const listed = Array.from(example.matchAll(/^#?([A-Z_]+)=/gm), ([, name = ""]) => name);
    assert.deepEqual(new Set(listed), new Set(variables));
    for (const file of [".env", ...(node.env_file ?? []).map(({ path }) => path)])
      assert.ok(read(".gitignore").split("\n").includes(file), file);
    assert.equal(node.image, `godwit:${VERSION}`);
  });

  test("limit memory, processes and capabilities of each container, and restart it", () => {
    for (const { cap_drop, security_opt, mem_limit, pids_limit, read_only, restart } of Object.values(compose.services)) {
      assert.deepEqual([cap_drop, security_opt, read_only], [["ALL"], ["no-new-privileges:true"], true]);
      assert.match(mem_limit, /^\$\{\w+:-\d+[gm]\}$/);
      assert.ok(pids_limit > 0);
      assert.equal(restart, "unless-stopped");
    }
    assert.deepEqual([node.cap_add, postgres.cap_add, caddy.cap_add], [undefined, undefined, ["NET_BIND_SERVICE"]]);
  });

  test("have two equal nodes, with the configuration folder", () => {
    assert.deepEqual(secondNode, node);
    const [config] = node.volumes.flatMap((volume) => (typeof volume === "string" ? [] : [volume]));
    assert.deepEqual([config?.source, config?.read_only], ["./config", true]);
    assert.equal(node.environment["GODWIT_CONFIG"], `${config?.target}/godwit.toml`);
  });

  test("give Caddy the nodes, the Caddyfile, a volume for certificates, and an address that no node gets", () => {
    const used = Array.from(read("packaging", "Caddyfile").matchAll(/\{\$(\w+)/g), ([, name = ""]) => name);
    assert.deepEqual(new Set(Object.keys(caddy.environment)), new Set(used));
    assert.equal(caddy.environment["GODWIT_UPSTREAMS"], "godwit-1:8080 godwit-2:8080");
    for (const volume of caddy.volumes.map(String)) {
      const [source = ""] = volume.split(":");
      assert.ok(source.startsWith("./") ? existsSync(join(ROOT, source)) : source in compose.volumes, volume);
    }
    assert.ok(caddy.volumes.includes("caddy-data:/data"));
    const address = withDefaults((caddy.networks as Record<string, { ipv4_address: string }>)["inside"]?.ipv4_address ?? "");
    assert.equal(withDefaults(node.environment["GODWIT_TRUSTED_PROXIES"] ?? ""), `${address}/32`);
    const [ipam] = compose.networks["inside"]?.ipam.config ?? [];
    const blocks = [ipam?.subnet, ipam?.ip_range, ipam?.gateway].map((cidr) => withDefaults(cidr ?? ""));
    const hasAddress = (cidr: string): boolean => addressSet([parseCidr(cidr)].filter((block) => block !== undefined)).has(address);
    assert.deepEqual(blocks.map(hasAddress), [true, false, false]);
  });

  test("give PostgreSQL no network, and share its socket", () => {
    assert.deepEqual(
      [postgres.network_mode, postgres.command],
      ["none", ["postgres", "-c", "listen_addresses=", "-c", "max_connections=150"]],
    );
    for (const { volumes } of [node, postgres]) assert.ok(volumes.includes("socket:/var/run/postgresql"));
    const script =
      postgres.volumes
        .map(String)
        .find((volume) => volume.includes("initdb.d"))
        ?.split(":")[0] ?? "";
    assert.ok(existsSync(join(ROOT, script)), script);
  });

  test("create an ordinary role that needs its password", { skip: needs("psql") }, async () => {
    const dataDir = join(folder, "compose");
    const server = await startGodwit({ asProcess: true, env: { GODWIT_DATA_DIR: dataDir } });
    const socket = socketDir(dataDir);
    // The role and the database of the embedded server are in the way.
    const psql = (text: string): string => {
      const { status, stdout, stderr } = spawnSync("psql", ["-XAtq", "-h", socket, "-U", "godwit_admin", "postgres", "-c", text], {
        encoding: "utf8",
      });
      assert.equal(status, 0, stderr);
      return stdout.trim();
    };
    psql("alter role godwit rename to embedded");
    writeFileSync(join(folder, "pg_hba.conf"), "local all all scram-sha-256\n");
    const env = { ...process.env, PGHOST: socket, PGDATA: folder, POSTGRES_USER: "godwit_admin", POSTGRES_PASSWORD: "it's secret" };
    const { status, stderr } = spawnSync("sh", [join(ROOT, "packaging", "compose-database.sh")], { env, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    assert.equal(psql("select rolsuper, rolcanlogin from pg_roles where rolname = 'godwit'"), "f|t");
    assert.equal(psql("select pg_get_userbyid(datdba) from pg_database where datname = 'godwit'"), "godwit");
    assert.equal(psql("select rolname from pg_authid where rolpassword like 'SCRAM-SHA-256%'"), "godwit");
    assert.equal(readFileSync(join(folder, "pg_hba.conf"), "utf8"), "local all godwit_admin peer\nlocal all all scram-sha-256\n");
    await server.stop("SIGKILL");
  });

  test("publish only the ports of Caddy", () => {
    assert.deepEqual(caddy.ports, ["80:80", "443:443", "443:443/udp"]);
    for (const { ports } of [node, secondNode, postgres]) assert.equal(ports, undefined);
  });

  describe("the service as the compose file starts it", () => {
    let godwit: Godwit;
    before(async () => {
      const proxies = withDefaults(node.environment["GODWIT_TRUSTED_PROXIES"] ?? "");
      godwit = await startGodwit({ asProcess: true, env: { GODWIT_HOST: "0.0.0.0", GODWIT_TRUSTED_PROXIES: proxies } });
    });
    after(() => godwit.stop());

    const check = async (port: string): Promise<unknown> => {
      const child = spawn(process.execPath, [join(ROOT, "packaging", "healthcheck.mjs")], { env: { GODWIT_PORT: port } });
      const [code] = await once(child, "exit");
      return code as unknown;
    };

    test("starts and passes its health check, which fails where no service runs", async () => {
      assert.equal(await check(new URL(godwit.url).port), 0);
      assert.equal(await check("1"), 1);
    });
  });
});
