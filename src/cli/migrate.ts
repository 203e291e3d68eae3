/** godwit migrate: brings the schema of the database up to date, and prints the migrations that it applied, or would apply. */
import { readConfig } from "../config.ts";
import { groupDigits } from "../lib/group-digits.ts";
import { requireCluster } from "../embedded/data-directory.ts";
import { migrate as runMigrations, type MigrationWatch } from "../database/migrate.ts";
import { planMigrations, type PlannedMigration } from "../database/plan-migrations.ts";
import { grantTo } from "../database/runtime-role.ts";
import { textFlag, type Command, type Input } from "./command.ts";
import { print, say } from "./output.ts";
import { withUnmigratedDatabase } from "./with-database.ts";

export const migrate: Command = {
  name: "migrate",
  about: [
    "Applies the pending migrations, as `godwit serve` does when it starts. Nodes keep running. A migration that does not work beside nodes of earlier releases is refused while such a node is connected.",
    "Migrations go forward only. A database of a newer godwit is refused, unless its migrations permit this version.",
    "--grant-to lets a role that owns nothing run nodes, also after later migrations. The owner of the schema runs this command.",
  ],
  usage: ["migrate [--plan] [--grant-to ROLE]"],
  flags: {
    plan: { isSwitch: true, help: "only print the pending migrations, their steps, and the tables that they lock, with sizes" },
    "grant-to": { value: "ROLE", help: "let this database role run nodes" },
  },
  settings: "database",
  examples: [
    ["The migrations of an upgrade:", "godwit migrate --plan"],
    ["Apply them before the nodes are replaced:", "DATABASE_URL=postgres://godwit@db.example.com/godwit godwit migrate"],
  ],
  async run({ flags }) {
    const config = readConfig(flags, "database");
    if (flags["plan"] === true && config.databaseUrl === undefined) requireCluster(config.dataDir);
    await withUnmigratedDatabase(config, "migrate", async ({ db }) => {
      if (flags["plan"] === true) return printPlan(flags, await planMigrations(db));
      const { version, applied } = await runMigrations(db, undefined, PROGRESS);
      const role = textFlag(flags, "grant-to");
      if (role !== undefined) await grantTo(db, role);
      const granted = role === undefined ? {} : { granted_to: role };
      print(flags, { schema: version, applied: applied.length === 0 ? null : applied, ...granted });
    });
  },
};

/** Progress for people. Programs read the result. */
const PROGRESS: MigrationWatch = {
  begun: ({ name, steps }) => say(steps.length === 1 ? `migration ${name}` : `migration ${name}, ${steps.length} steps`),
  advanced: (_, { about, isRepeated }, rows) => {
    if (about !== undefined) say(isRepeated ? `  ${about}: ${groupDigits(rows)} rows` : `  ${about}`);
  },
  waiting: (_, attempts) => {
    if (attempts === 1 || attempts % 10 === 0) say(`  a table is in use for longer than half a second: attempt ${attempts + 1} follows`);
  },
};

function printPlan(flags: Input["flags"], plan: { schema: number; pending: readonly PlannedMigration[] }): void {
  if (flags["json"] === true) return print(flags, plan);
  if (plan.pending.length === 0) return void process.stdout.write(`schema ${plan.schema}: nothing to do\n`);
  // An empty database has no nodes and no tables that a migration could lock.
  if (plan.schema === 0)
    return void process.stdout.write(
      `no schema yet, ${plan.pending.length} to apply: ${plan.pending.map(({ name }) => name).join(", ")}\n`,
    );
  const lines = plan.pending.flatMap(({ version, name, works_with: worksWith, steps, locks }) => [
    `${name}: ${worksWith === version ? "stop nodes of earlier releases first" : `nodes that know schema ${worksWith} or later may run`}`,
    ...(steps.length === 1 ? [] : steps.map((step, index) => `  step ${index + 1}: ${step}`)),
    ...locks.map(({ table, lock, rows, bytes }) => `  ${lock} lock on ${table}: about ${groupDigits(rows)} rows, ${megabytes(bytes)} MB`),
    ...(locks.length === 0 ? ["  no locks on existing tables"] : []),
  ]);
  process.stdout.write(`schema ${plan.schema}, ${plan.pending.length} to apply\n${lines.join("\n")}\n`);
}

const megabytes = (bytes: number): string => groupDigits(Math.ceil(bytes / 1_048_576));
