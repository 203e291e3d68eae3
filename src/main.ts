/** The entry point: runs the command in argv. Compiled code is cached, because most commands run only briefly. */
import { enableCompileCache } from "node:module";
import { runCommand } from "./cli/run-command.ts";

enableCompileCache();

const argv = process.argv.slice(2);
// The reader of the output, such as head, has closed the pipe. The service does not end with the reader of its log.
if (argv[0] !== "serve")
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(0);
  });
const code = await runCommand(argv);
// An aborted start may still be running. The next start takes over its locks and leases.
if (code === 0) process.exitCode = 0;
else process.exit(code);
