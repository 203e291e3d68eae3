/** godwit migrate: brings the schema of the database up to date, and prints the migrations that it applied. */
import { randomBytes } from "node:crypto";
import { readConfig } from "../config.ts";
import { migrate as runMigrations } from "../storage/migrate.ts";
import { openDatabase } from "../storage/open-database.ts";
import { type Command } from "./command.ts";
import { print, say } from "./output.ts";

export const migrate: Command = {
  name: "migrate",
  about: [
    "Applies the migrations that the database has not had, in order, once, and one process at a time. `godwit serve` does the same when it starts: this is for those who want it done before.",
    "Migrations go forward only. A database of a newer godwit is refused.",
  ],
  usage: ["migrate [--json]"],
  flags: {},
  settings: "database",
  examples: [["Before the nodes are changed over:", "DATABASE_URL=postgres://godwit@db.example.com/godwit godwit migrate"]],
  async run({ flags }) {
    const config = readConfig(flags, "database");
    const { db, close } = await openDatabase({
      ...config,
      command: "migrate",
      mayJoin: true,
      nodeName: randomBytes(6).toString("hex"),
      say,
      onLog: () => undefined,
    });
    try {
      const { version, applied } = await runMigrations(db);
      print(flags, { schema: version, applied: applied.length === 0 ? null : applied });
    } finally {
      await close();
    }
  },
};
