/** The entry point: runs the command in argv. Compiled code is cached, because most commands run only briefly. */
import { enableCompileCache } from "node:module";
import { runCommand } from "./cli/run-command.ts";

enableCompileCache();

const code = await runCommand(process.argv.slice(2));
// An aborted start may still be running. The next start takes over its locks and leases.
if (code === 0) process.exitCode = 0;
else process.exit(code);
