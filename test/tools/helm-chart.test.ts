/** The Helm chart and its examples: rendered by Helm, checked against the schemas of Kubernetes and of the operators, and run without a cluster. No
 *  cluster is started: scheduling, network policies, the autoscaler and the operators themselves are not tested. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import pg from "pg";
import { parse as parseYaml, parseAllDocuments } from "yaml";
import { SETTINGS, type Setting } from "../../src/settings.ts";
import { VERSION } from "../../src/version.ts";
import { asAdmin, createEmptyDatabase } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { runGodwit, SECRET_KEY, spawnGodwit } from "../support/harness.ts";
import { findKubernetesTools, findManifestFaults, type KubernetesTools, type Manifest } from "../support/kubernetes-tools.ts";

type Selector = { matchLabels: Record<string, string> };
type Probe = { httpGet: { path: string; port: number; scheme: string }; periodSeconds: number; failureThreshold: number };
type Container = {
  args: string[];
  env: { name: string; value: string }[];
  ports: { name: string; containerPort: number }[];
  volumeMounts: { name: string; mountPath: string }[];
  startupProbe: Probe;
  livenessProbe: Probe;
  securityContext: object;
  readinessProbe: Probe;
  lifecycle?: { preStop: { sleep: { seconds: number } } };
};
type Items = { name?: string; secretName?: string; items?: { key: string; path: string }[] };
type Volume = { name: string; secret?: Items; configMap?: Items; projected?: { sources: { secret: Items }[] } };
type Pod = {
  metadata: { labels: Record<string, string> };
  spec: {
    containers: [Container];
    volumes: Volume[];
    terminationGracePeriodSeconds: number;
    automountServiceAccountToken: boolean;
    securityContext: { runAsNonRoot: boolean; seccompProfile: object };
    topologySpreadConstraints: { labelSelector: Selector }[];
  };
};
type Rendered<Spec> = Manifest & { metadata: { labels: Record<string, string>; annotations?: Record<string, string> }; spec: Spec };

const ROOT = join(import.meta.dirname, "..", "..");
const HELM_FOLDER = join(ROOT, "packaging", "helm");
const CHART = join(HELM_FOLDER, "godwit");
const SECRETS = "/etc/godwit/secrets";
// `serve` ends so long after the drain at the latest (src/cli/serve.ts).
const STOP_LIMIT_SECONDS = 25;

/** The values files, by name. */
const EXAMPLES = globSync("*-values.yaml", { cwd: join(HELM_FOLDER, "examples") }).toSorted();
const set = (...values: string[]): string[] => values.flatMap((value) => ["--set", value]);
const setText = (...values: string[]): string[] => values.flatMap((value) => ["--set-string", value]);
const example = (name: string): string[] => ["--values", join(HELM_FOLDER, "examples", name)];
/** Every rendering that is checked: the defaults, each example, and options that no example has. */
const RENDERINGS: Readonly<Record<string, string[]>> = {
  defaults: [],
  ...Object.fromEntries(EXAMPLES.map((name) => [name, example(name)])),
  "no migration": set("migration.enabled=false"),
  "a long drain": [...setText("settings.GODWIT_DRAIN=120"), ...set("preStopSeconds=30")],
  "no preStop": [...set("preStopSeconds=0"), ...setText("settings.GODWIT_DRAIN=")],
  "own image": set(
    `image.digest=sha256:${"a".repeat(64)}`,
    "imagePullSecrets[0].name=registry",
    "nodeSelector.disk=fast",
    "tolerations[0].key=messaging",
    "podAnnotations.team=sms",
    "service.type=LoadBalancer",
    "service.annotations.name=public",
  ),
  "a plan": set("migration.planOnly=true"),
  "metrics over TLS": [
    ...set("serviceMonitor.enabled=true", "serviceMonitor.tlsConfig.serverName=sms.example.com"),
    ...setText("settings.GODWIT_METRICS_ALLOW=10.0.0.0/8"),
  ],
};

let found: ReturnType<typeof findKubernetesTools>;
let folder: string;
before(() => {
  found = findKubernetesTools();
  folder = mkdtempSync(join(tmpdir(), "godwit-helm-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** The tools. Skips the test without them. */
function toolsFor(context: TestContext): KubernetesTools | undefined {
  if (!("missing" in found)) return found;
  context.skip(found.missing);
  return undefined;
}

/** Runs Helm, or skips the test without it. */
function runHelm(context: TestContext, args: readonly string[]): { status: number | null; stdout: string; stderr: string } | undefined {
  const tools = toolsFor(context);
  if (tools === undefined) return undefined;
  const env = { PATH: process.env["PATH"], HOME: folder };
  return spawnSync(tools.helm, args, { env, encoding: "utf8", timeout: 60_000 });
}

// Helm and Kubernetes read YAML 1.1, in which 0440 is octal.
const readYaml = (text: string): Manifest[] =>
  parseAllDocuments(text, { version: "1.1" }).flatMap((document) => (document.toJS() as Manifest | null) ?? []);

/** The manifests of one rendering. */
function render(context: TestContext, args: readonly string[]): Manifest[] | undefined {
  const result = runHelm(context, ["template", "godwit", CHART, "--namespace", "sms", ...args]);
  if (result === undefined) return undefined;
  assert.equal(result.status, 0, result.stderr);
  return readYaml(result.stdout);
}

const ofKind = <Spec>(manifests: readonly Manifest[], kind: string): Rendered<Spec>[] =>
  manifests.filter((manifest) => manifest.kind === kind) as Rendered<Spec>[];

function onlyOf<Spec>(manifests: readonly Manifest[], kind: string): Rendered<Spec> {
  const [first, ...others] = ofKind<Spec>(manifests, kind);
  assert.ok(first !== undefined && others.length === 0, kind);
  return first;
}

const podOf = (manifests: readonly Manifest[]): Pod => onlyOf<{ template: Pod }>(manifests, "Deployment").spec.template;
/** The pods of the Deployment, and of the Job if there is one. */
const podsOf = (manifests: readonly Manifest[]): Pod[] =>
  ["Deployment", "Job"].flatMap((kind) => ofKind<{ template: Pod }>(manifests, kind)).map(({ spec }) => spec.template);
const jobOf = (manifests: readonly Manifest[]): Pod => onlyOf<{ template: Pod }>(manifests, "Job").spec.template;

/** A test of every rendering. */
const testEach = (name: string, check: (manifests: Manifest[]) => void): void =>
  void test(name, async (context): Promise<void> => {
    for (const [rendering, args] of Object.entries(RENDERINGS)) {
      const manifests = render(context, args);
      if (manifests === undefined) return;
      await context.test(rendering, () => check(manifests));
    }
  });

describe("the chart", () => {
  test("has the version of the package", () => {
    const { version, appVersion } = parseYaml(readFileSync(join(CHART, "Chart.yaml"), "utf8")) as Record<string, string>;
    assert.deepEqual([version, appVersion], [VERSION, VERSION]);
  });

  test("accepts every setting that is neither a secret nor set by the chart, and no other", () => {
    // A node has no database of its own to archive, and the URL of a standby is a secret.
    const MANAGED =
      "GODWIT_PORT GODWIT_DATA_DIR GODWIT_ARCHIVE GODWIT_ARCHIVE_DAYS DATABASE_URL GODWIT_READ_URL GODWIT_MIGRATE GODWIT_TLS_CERT GODWIT_TLS_KEY GODWIT_CONFIG".split(
        " ",
      );
    const { properties } = JSON.parse(readFileSync(join(CHART, "values.schema.json"), "utf8")) as {
      properties: { settings: { properties: object } };
    };
    const names = Object.values<Setting>(SETTINGS).flatMap(({ env, isSecret }) => (isSecret || MANAGED.includes(env) ? [] : env));
    assert.deepEqual(Object.keys(properties.settings.properties).toSorted(), names.toSorted(), "change values.schema.json");
  });

  test("renders with the values of each command of the documentation", (context) => {
    const pages = ["kubernetes", "upgrading"].map((name) => readFileSync(join(ROOT, "docs", `${name}.md`), "utf8").replaceAll("\\\n", " "));
    const commands = pages.flatMap((page) => page.match(/^helm (?:install|template|upgrade) godwit packaging\/helm\/godwit .*$/gm) ?? []);
    assert.equal(commands.length, 4);
    for (const command of commands) {
      const given = Array.from(command.matchAll(/--(?:set|values) (?!values\.yaml)\S+/g), ([text]) => text.split(" ")).flat();
      const paths = given.map((part) => (part.startsWith("packaging/") ? join(ROOT, part) : part));
      if (render(context, paths) === undefined) return;
    }
  });

  test("passes helm lint with its defaults and with each example", (context) => {
    for (const args of [[], ...EXAMPLES.map(example)]) {
      const result = runHelm(context, ["lint", "--strict", CHART, ...args]);
      if (result === undefined) return;
      assert.equal(result.status, 0, result.stdout);
    }
  });

  test("renders valid manifests, and so are those of the examples", async (context) => {
    const tools = toolsFor(context);
    if (tools === undefined) return;
    const all = Object.values(RENDERINGS).flatMap((args) => render(context, args) ?? []);
    const examples = globSync("*.yaml", { cwd: join(HELM_FOLDER, "examples") }).filter((name) => !EXAMPLES.includes(name));
    const files = examples.map((name) => readYaml(readFileSync(join(HELM_FOLDER, "examples", name), "utf8")));
    const manifests = [...all, ...files.flat()];
    const kinds =
      "Deployment Service Job PodDisruptionBudget HorizontalPodAutoscaler NetworkPolicy ServiceMonitor PrometheusRule ConfigMap";
    assert.deepEqual(new Set(manifests.map(({ kind }) => kind)), new Set([...kinds.split(" "), "Cluster", "ExternalSecret"]));
    assert.deepEqual(await findManifestFaults(tools, manifests), []);
  });

  test("would not pass with a field that does not exist, or with a wrong value", async (context) => {
    const tools = toolsFor(context);
    const manifests = render(context, []);
    if (tools === undefined || manifests === undefined) return;
    const pod = podOf(manifests);
    Object.assign(pod.spec.containers[0].livenessProbe.httpGet, { pathh: "/livez" });
    Object.assign(pod.spec, { terminationGracePeriodSeconds: "long" });
    const faults = await findManifestFaults(tools, manifests);
    assert.match(faults.join("\n"), /"pathh"' does not exist/);
    assert.match(faults.join("\n"), /terminationGracePeriodSeconds must be integer/);
  });

  const REFUSED: Readonly<Record<string, readonly [args: string[], message: RegExp]>> = {
    "a setting that does not exist": [setText("settings.GODWIT_DRIAN=5"), /'\/settings'.*'GODWIT_DRIAN' not allowed/],
    "a secret as a setting": [setText("settings.GODWIT_SECRET_KEY=x"), /'GODWIT_SECRET_KEY' not allowed/],
    "a drain that is no number": [setText("settings.GODWIT_DRAIN=long"), /'\/settings\/GODWIT_DRAIN'.*does not match/],
    "a setting that is no text": [set("settings.GODWIT_RETENTION_DAYS=60"), /got number, want string/],
    "no secret key": [set("secrets.GODWIT_SECRET_KEY=null"), /'\/secrets': missing property 'GODWIT_SECRET_KEY'/],
    "a secret as a value": [set("secrets.ACME_PASSWORD=x"), /'\/secrets\/ACME_PASSWORD': got string, want object/],
    "an unknown value": [set("replicaCount=3"), /'replicaCount' not allowed/],
    "neither TLS nor a proxy": [set("tls.secret="), /set tls\.secret, or settings\.GODWIT_TRUSTED_PROXIES/],
    "metrics that Prometheus may not read": [set("serviceMonitor.enabled=true"), /set settings\.GODWIT_METRICS_ALLOW/],
    "metrics over TLS of an unknown name": [
      [...set("serviceMonitor.enabled=true"), ...setText("settings.GODWIT_METRICS_ALLOW=10.0.0.0/8")],
      /serviceMonitor: set tlsConfig/,
    ],
    "a network policy without peers": [set("networkPolicy.enabled=true"), /networkPolicy: set ingress/],
    "fewer nodes at most than at least": [set("autoscaling.enabled=true,autoscaling.minReplicas=9"), /minReplicas is greater/],
    "a role of the nodes without an owner": [set("migration.grantTo=godwit_node"), /migration: set databaseUrl/],
    "a Kubernetes without the sleep hook": [["--kube-version", "1.29.0"], /requires kubeVersion: >=1\.30\.0-0/],
  };
  for (const [fault, [args, message]] of Object.entries(REFUSED))
    test(`refuses ${fault}`, (context) => {
      const result = runHelm(context, ["template", "godwit", CHART, ...args]);
      if (result === undefined) return;
      assert.equal(result.status, 1);
      assert.match(result.stderr, message);
    });
});

describe("the manifests", () => {
  testEach("probe paths that are open beside trusted proxies, and do not restart a node whose database is away", (manifests) => {
    const [node] = podOf(manifests).spec.containers;
    const isTls = node.env.some(({ name }) => name === "GODWIT_TLS_CERT");
    const port = { port: node.ports[0]?.containerPort, scheme: isTls ? "HTTPS" : "HTTP" };
    assert.deepEqual(node.startupProbe.httpGet, { path: "/livez", ...port });
    assert.deepEqual(node.livenessProbe.httpGet, { path: "/livez", ...port });
    assert.deepEqual(node.readinessProbe.httpGet, { path: "/readyz", ...port });
  });

  testEach("leave time for the hook, the drain and the stop", (manifests) => {
    const { containers, terminationGracePeriodSeconds } = podOf(manifests).spec;
    const [{ env, lifecycle, readinessProbe }] = containers;
    // Without a value, the drain of a node that does not listen on loopback.
    const drain = Number(env.find(({ name }) => name === "GODWIT_DRAIN")?.value || 5);
    const sleep = lifecycle?.preStop.sleep.seconds ?? 0;
    assert.equal(terminationGracePeriodSeconds, sleep + drain + STOP_LIMIT_SECONDS + 10);
    assert.ok(sleep + drain > readinessProbe.periodSeconds * readinessProbe.failureThreshold, "a load balancer notices the drain");
  });

  testEach("name only existing settings, and secrets only as files", (manifests) => {
    const known = new Map<string, Setting>(Object.values<Setting>(SETTINGS).map((setting) => [setting.env, setting]));
    assert.deepEqual(ofKind(manifests, "Secret"), []);
    for (const pod of podsOf(manifests)) {
      const [{ env, volumeMounts }] = pod.spec.containers;
      const files = filesOf(pod);
      for (const { name, value } of env) {
        assert.equal(typeof value, "string", name);
        if (name.endsWith("_FILE")) assert.equal(value, `${SECRETS}/${name.replace(/_FILE$/, "")}`);
        else assert.ok(name === "NODE_EXTRA_CA_CERTS" || (known.get(name) !== undefined && !known.get(name)?.isSecret), name);
        assert.notEqual(name, "DATABASE_URL");
        if (value.startsWith("/")) assert.ok(files.has(value), `${name}=${value} is in no volume`);
      }
      assert.deepEqual(volumeMounts.map(({ name }) => name).toSorted(), pod.spec.volumes.map(({ name }) => name).toSorted());
    }
  });

  testEach("satisfy the Pod Security Standard restricted, with a root file system that is read-only", (manifests) => {
    for (const { spec } of podsOf(manifests)) {
      const { runAsNonRoot, seccompProfile } = spec.securityContext;
      assert.deepEqual([runAsNonRoot, seccompProfile, spec.automountServiceAccountToken], [true, { type: "RuntimeDefault" }, false]);
      assert.deepEqual(spec.containers[0].securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
    }
  });

  testEach("select the nodes by labels that only they have", (manifests) => {
    const { labels } = podOf(manifests).metadata;
    const fits = (selector: Record<string, string>): boolean => Object.entries(selector).every(([key, value]) => labels[key] === value);
    const service = onlyOf<{ selector: Record<string, string>; ports: { name: string; targetPort: number }[] }>(manifests, "Service");
    const selectors = [
      service.spec.selector,
      onlyOf<{ selector: Selector }>(manifests, "Deployment").spec.selector.matchLabels,
      onlyOf<{ selector: Selector }>(manifests, "PodDisruptionBudget").spec.selector.matchLabels,
      ...podOf(manifests).spec.topologySpreadConstraints.map(({ labelSelector }) => labelSelector.matchLabels),
    ];
    for (const selector of selectors) assert.ok(fits(selector) && selector["app.kubernetes.io/component"] === "node");
    const [node] = podOf(manifests).spec.containers;
    assert.deepEqual(
      service.spec.ports.map(({ name, targetPort }) => [name, targetPort]),
      node.ports.map(({ name, containerPort }) => [name, containerPort]),
    );
    for (const { spec } of ofKind<{ endpoints: { port: string }[]; selector: Selector; jobLabel: string }>(manifests, "ServiceMonitor")) {
      assert.deepEqual(
        spec.endpoints.map(({ port }) => port),
        service.spec.ports.map(({ name }) => name),
      );
      for (const [key, value] of Object.entries(spec.selector.matchLabels)) assert.equal(service.metadata.labels[key], value);
      // The alerts expect the job godwit.
      assert.equal(service.metadata.labels[spec.jobLabel], "godwit");
    }
    for (const { metadata, spec } of ofKind<{ podSelector: Selector }>(manifests, "NetworkPolicy")) {
      const isMigration = spec.podSelector.matchLabels["app.kubernetes.io/component"] === "migration";
      assert.equal(fits(spec.podSelector.matchLabels), !isMigration);
      // The policy of the Job exists before the Job.
      if (isMigration) assert.ok(Number(metadata.annotations?.["helm.sh/hook-weight"]) < 0);
    }
  });

  test("give the migration Job the URL of the owner, and no other secret", (context) => {
    for (const [name, secret] of [
      ["external-secrets-values.yaml", "godwit-owner"],
      ["cloudnative-pg-values.yaml", "godwit-database-app"],
    ] as const) {
      const manifests = render(context, example(name));
      if (manifests === undefined) return;
      const job = jobOf(manifests);
      const secrets = (pod: Pod): unknown[] =>
        pod.spec.volumes.flatMap(({ secret: own, projected }) => [
          own?.secretName,
          ...(projected?.sources ?? []).map((each) => each.secret.name),
        ]);
      assert.deepEqual(job.spec.containers[0].args, ["migrate", "--grant-to", "godwit_node"]);
      assert.deepEqual(
        secrets(job).filter((each) => each !== undefined && each !== "godwit-database-ca"),
        [secret],
      );
      assert.ok(!secrets(podOf(manifests)).includes(secret));
      const paths = Array.from(filesOf(job).keys());
      assert.ok(!paths.some((path) => path.endsWith("ca.key")), "the key of the authority stays out");
      assert.equal(podOf(manifests).spec.containers[0].env.find((each) => each.name === "GODWIT_MIGRATE")?.value, "off");
    }
  });

  test("have the alert rules of the package", (context) => {
    const manifests = render(context, example("ingress-values.yaml"));
    if (manifests === undefined) return;
    const { spec } = onlyOf(manifests, "PrometheusRule");
    assert.deepEqual(spec, parseYaml(readFileSync(join(ROOT, "packaging", "prometheus-alerts.yml"), "utf8")));
  });
});

/** The files of a pod that a volume brings: by path, the key and the volume's source. */
function filesOf({ spec }: Pod): Map<string, { source: string; key: string }> {
  const files = new Map<string, { source: string; key: string }>();
  for (const { name, mountPath } of spec.containers[0].volumeMounts) {
    const { secret, configMap, projected } = spec.volumes.find((volume) => volume.name === name) ?? assert.fail(name);
    const all = [secret, ...(projected?.sources ?? []).map((each) => each.secret)].filter((each) => each !== undefined);
    for (const { name: given, secretName, items } of all) {
      // A Secret of the type kubernetes.io/tls has two keys.
      for (const { key, path } of items ?? ["tls.crt", "tls.key"].map((each) => ({ key: each, path: each })))
        files.set(join(mountPath, path), { source: given ?? secretName ?? "", key });
    }
    if (configMap !== undefined) files.set(join(mountPath, "godwit.toml"), { source: configMap.name ?? "", key: "godwit.toml" });
  }
  return files;
}

describe("without a cluster", () => {
  /** Writes the files of a pod into a folder, and returns its environment with the paths in that folder. */
  function environmentOf(pod: Pod, contents: Readonly<Record<string, string>>): Record<string, string> {
    const root = mkdtempSync(join(folder, "pod-"));
    for (const [path, { source, key }] of filesOf(pod)) {
      mkdirSync(join(root, path, ".."), { recursive: true });
      writeFileSync(join(root, path), contents[`${source} ${key}`] ?? assert.fail(`${source} ${key}`), { mode: 0o600 });
    }
    const env = pod.spec.containers[0].env.map(({ name, value }) => [name, value.startsWith("/") ? join(root, value) : value]);
    return Object.fromEntries(env) as Record<string, string>;
  }

  test("the Job migrates and grants, and a node with the other role serves, and ends after its drain", async (context) => {
    const owner = "migration.databaseUrl.secret=godwit-owner,migration.grantTo=godwit_node";
    const drain = setText("settings.GODWIT_DRAIN=1");
    const manifests = render(context, [...example("ingress-values.yaml"), ...drain, ...set(owner)]);
    if (manifests === undefined) return;
    const [url, role] = [await createEmptyDatabase(), `chart_node_${randomBytes(4).toString("hex")}`];
    await asAdmin((admin) => admin.query(`create role ${role} login`));
    try {
      const contents = {
        "godwit-owner database-url": url,
        "godwit database-url": url.replace(/\/\/[^@]*@/, `//${role}@`),
        "godwit secret-key": SECRET_KEY,
      };
      const job = jobOf(manifests);
      const [migrate, , given] = job.spec.containers[0].args;
      assert.equal(given, "godwit_node");
      const done = await runGodwit([migrate ?? "", "--grant-to", role], environmentOf(job, contents));
      assert.equal(done.code, 0, done.stderr);

      const pod = podOf(manifests);
      const { args, livenessProbe, readinessProbe } = pod.spec.containers[0];
      const port = await freePort();
      const ofImage = { GODWIT_HOST: "0.0.0.0", GODWIT_LOG: "json" };
      const node = spawnGodwit(args, { ...environmentOf(pod, contents), ...ofImage, GODWIT_PORT: String(port) });
      await node.waitFor(({ msg }) => msg === "listening");
      const get = (path: string): Promise<Response> => fetch(`http://127.0.0.1:${port}${path}`);
      for (const { httpGet } of [livenessProbe, readinessProbe]) assert.equal((await get(httpGet.path)).status, 200);
      const metrics = await (await get("/metrics")).text();
      const scaled = render(context, example("autoscaling-values.yaml")) ?? [];
      const { spec } = onlyOf<{ metrics: { external: { metric: { name: string } } }[] }>(scaled, "HorizontalPodAutoscaler");
      for (const { external } of spec.metrics) assert.match(metrics, new RegExp(`^# TYPE ${external.metric.name} gauge$`, "m"));
      node.child.kill("SIGTERM");
      assert.equal(await node.exit, 0);
    } finally {
      await asAdmin(async (admin) => {
        await admin.query(`drop database ${new pg.Client(url).database} with (force)`);
        await admin.query(`drop role ${role}`);
      });
    }
  });

  test("the configuration file of an example has no fault", async (context) => {
    const manifests = render(context, example("external-secrets-values.yaml"));
    if (manifests === undefined) return;
    const { data } = onlyOf(manifests, "ConfigMap") as unknown as { data: Record<string, string> };
    const pod = podOf(manifests);
    const contents = Object.fromEntries(
      Array.from(filesOf(pod).values(), ({ source, key }) => [`${source} ${key}`, data[key] ?? (key === "secret-key" ? SECRET_KEY : "x")]),
    );
    const env = environmentOf(pod, { ...contents, "godwit database-url": "postgres://godwit_node@localhost/godwit" });
    const { GODWIT_TLS_CERT: _cert, GODWIT_TLS_KEY: _key, ...rest } = env;
    const { code, stderr } = await runGodwit(["config", "check", env["GODWIT_CONFIG"] ?? assert.fail()], rest);
    assert.equal(code, 0, stderr);
  });
});
