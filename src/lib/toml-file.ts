/** Reads a TOML file. The message of an error is one sentence without the path, and names the line of a fault in the syntax. */
import { readFileSync } from "node:fs";
import { parse, TomlError } from "smol-toml";

const SYSTEM_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EACCES: "this user may not read the file",
  EISDIR: "is a folder and not a file",
};

export function readTomlFile(path: string): Record<string, unknown> {
  try {
    return parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new Error(describe(error), { cause: error });
  }
}

function describe(error: unknown): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  const [firstLine = ""] = message.split("\n");
  if (!(error instanceof TomlError)) return SYSTEM_ERRORS[code] ?? firstLine;
  return `line ${error.line}, column ${error.column}: ${firstLine.replace("Invalid TOML document", "is not valid TOML")}`;
}
