/** Carrier files: definitions of HTTP carriers that links share. `carrier = "telnyx"` names a file of this package, and a path one of
 *  the operator. The members of the file are defaults of the link's table. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parse as parseToml } from "smol-toml";
import { isObject, type JsonObject } from "../providers/carrier-fields.ts";

const BUILT_IN = join(import.meta.dirname, "..", "..", "packaging", "carriers");

/** The names of the carrier files of this package. */
export const CARRIERS: readonly string[] = (existsSync(BUILT_IN) ? readdirSync(BUILT_IN) : [])
  .filter((file) => file.endsWith(".toml"))
  .map((file) => file.slice(0, -".toml".length))
  .toSorted();

/** The provider that was meant by the name of a carrier; empty for any other text. */
export const providerMeant = (text: unknown): string =>
  CARRIERS.some((carrier) => carrier === text) ? `http with carrier ${String(text)}` : "";

export const carrierPath = (carrier: string): string => join(BUILT_IN, `${carrier}.toml`);

/** `configPath` is the configuration file, to which the paths of carrier files are relative. */
export function withCarrierFiles<Tables extends { link?: unknown }>(
  tables: Tables,
  configPath: string | undefined,
  faults: string[],
): Tables {
  if (!Array.isArray(tables.link)) return tables;
  const folder = configPath === undefined ? "." : dirname(configPath);
  const link = tables.link.map((table: unknown, index) => {
    const { carrier, ...own } = isObject(table) ? table : {};
    if (typeof carrier !== "string") return table;
    const at = typeof own["name"] === "string" ? own["name"] : index + 1;
    return merge(
      readCarrierFile(carrier, folder, (fault) => faults.push(`link ${at}: carrier: ${fault}`)),
      own,
    );
  });
  return { ...tables, link };
}

function readCarrierFile(carrier: string, folder: string, report: (fault: string) => void): JsonObject {
  const path = /^[a-z][a-z0-9-]*$/.test(carrier) ? carrierPath(carrier) : resolve(folder, carrier);
  try {
    const file = parseToml(readFileSync(path, "utf8"));
    for (const member of ["name", "provider"])
      if (member in file) report(`${path}: ${member}: belongs to the link, not to its carrier file`);
    return file;
  } catch (error) {
    const [line = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
    report(`${path}: ${line}`);
    return {};
  }
}

/** Tables are merged, and everything else of the link replaces that of the file. */
const merge = (file: JsonObject, own: JsonObject): JsonObject => ({
  ...file,
  ...Object.fromEntries(
    Object.entries(own).map(([name, value]) => {
      const before = file[name];
      return [name, isObject(before) && isObject(value) ? merge(before, value) : value];
    }),
  ),
});
