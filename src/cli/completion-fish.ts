/** The script for fish: a line for each word and flag. */
import type { CommandGrammar, Grammar } from "./completion.ts";

const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

export function fishScript(grammar: Grammar): string {
  const lines = grammar.flatMap((command) => [
    `complete -c godwit -n '__fish_use_subcommand' -a ${quote(command.name)} -d ${quote(command.summary)}`,
    ...wordLines(command),
    ...flagLines(command),
  ]);
  return `# godwit for fish: godwit completion fish > ~/.config/fish/completions/godwit.fish
complete -c godwit -f
# Whether the words so far are these, flags and their values aside.
function __godwit_at
    set -l words
    set -l tokens (commandline -opc)
    set -e tokens[1]
    for token in $tokens
        string match -q -- '-*' $token; and break
        set -a words $token
    end
    test "$words" = "$argv"
end
${lines.join("\n")}
`;
}

const wordLines = ({ name, places }: CommandGrammar): string[] =>
  places.flatMap(({ before, words }) =>
    words.map(
      ([word, means]) =>
        `complete -c godwit -n ${quote(`__godwit_at ${[name, ...before].join(" ")}`)} -a ${quote(word)}${means === "" ? "" : ` -d ${quote(means)}`}`,
    ),
  );

const flagLines = ({ name, flags }: CommandGrammar): string[] =>
  flags.map(([flag, { type, help, choices, isList }]) => {
    const values = choices?.map((choice) => quote(choice)).join(" ");
    const takes =
      type === "boolean"
        ? ""
        : values === undefined
          ? " -r -F"
          : ` -x -a ${quote(isList ? `(__fish_append , ${values})` : (choices?.join(" ") ?? ""))}`;
    return `complete -c godwit -n '__fish_seen_subcommand_from ${name}' -l ${flag}${takes} -d ${quote(help)}`;
  });
