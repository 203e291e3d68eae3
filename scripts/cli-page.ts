/** Writes the part of docs/cli.md below its marker: every command, generated from the table of commands. A test fails when the page is
 *  out of date. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shownSettings, type Command, type FlagRow } from "../src/cli/command.ts";
import { COMMANDS } from "../src/cli/commands.ts";
import { exitCodes, flagText } from "../src/cli/help.ts";

const PAGE = join(import.meta.dirname, "..", "docs", "cli.md");
const MARK = "<!-- From here on: npm run cli-page -->";

/** Returns the current text of the page, and the text that it should have. */
export async function readPage(): Promise<{ is: string; shouldBe: string }> {
  const is = readFileSync(PAGE, "utf8");
  const own = is.slice(0, is.indexOf(MARK));
  const sections = await Promise.all(Object.values(COMMANDS).map(async ({ load }) => section(await load())));
  return { is, shouldBe: [own + MARK, ...sections].join("\n\n") };
}

function section(command: Command): string {
  const { name, about, usage, flags, settings, examples } = command;
  const flagRows = Object.entries(flags).map(([flag, row]) => [flagText(flag, row), described(row)] as const);
  const settingRows = shownSettings(command).map(
    ({ flag, value = "VALUE", env, fallback, help }) => [`--${flag} ${value}`, `${help} (\`${env}\`${byDefault(fallback)})`] as const,
  );
  return [
    `## godwit ${name}`,
    ...about,
    `\`\`\`\n${usage.map((form) => `godwit ${form}\n`).join("")}\`\`\``,
    ...(flagRows.length === 0 ? [] : [table(["flag", ""], flagRows)]),
    // Another page lists all settings of the service.
    ...(settings === "service" ? ["It takes all [settings](settings.md)."] : []),
    ...(settings === "service" || settingRows.length === 0 ? [] : [table(["setting", ""], settingRows)]),
    `\`\`\`sh\n${examples.map(([does, line]) => `# ${does}\n${line}\n`).join("\n")}\`\`\``,
    ...(command.exitCodes === undefined ? [] : [table(["exit code", ""], Object.entries(exitCodes(command)))]),
    "",
  ]
    .join("\n\n")
    .trimEnd();
}

const byDefault = (fallback: string | undefined): string => (fallback === undefined ? "" : `; default ${fallback}`);

function described({ help, choices, isList, isRepeated, fallback }: FlagRow): string {
  const notes = [
    ...(choices === undefined
      ? []
      : [`${isList ? "one or more, separated by commas, of" : "one of"} ${choices.map((choice) => `\`${choice}\``).join(", ")}`]),
    ...(isRepeated ? ["may be given several times"] : []),
    ...(fallback === undefined ? [] : [`default ${fallback}`]),
  ];
  return notes.length === 0 ? help : `${help}; ${notes.join("; ")}`;
}

const table = ([left, right]: readonly [string, string], rows: readonly (readonly [string, string])[]): string =>
  [
    `| ${left} | ${right} |`,
    "|---|---|",
    ...rows.map(([name, text]) => `| \`${name.replaceAll("|", "\\|")}\` | ${text.replaceAll("|", "\\|")} |`),
  ].join("\n");

if (import.meta.main) writeFileSync(PAGE, `${(await readPage()).shouldBe}\n`);
