/** godwit completion: prints a script with which a shell completes commands, words, flags and values. The script is generated from the
 *  table of commands and contains everything it needs, so that a completion does not wait for a program to start. */
import { formWords, nextWords, shownFlags, type Command, type Program } from "./command.ts";
import { bashScript, fishScript, zshScript, type Grammar, type NextWords } from "./completion-scripts.ts";

export const completion: Command = {
  name: "completion",
  about: [
    "Prints a script for bash, zsh or fish that completes commands, their words, flags, and the values of flags. Print it again after an update.",
  ],
  usage: ["completion bash|zsh|fish"],
  flags: {},
  settings: "none",
  hasNoJson: true,
  examples: [
    ["bash, from ~/.bashrc:", "source <(godwit completion bash)"],
    ["zsh, into a folder of $fpath:", 'godwit completion zsh > "${fpath[1]}/_godwit"'],
    ["fish:", "godwit completion fish > ~/.config/fish/completions/godwit.fish"],
  ],
  async run({ words: [shell = ""] }, program) {
    const script = SCRIPTS[shell]?.(await readGrammar(program));
    process.stdout.write(script ?? "");
  },
};

const SCRIPTS: Readonly<Record<string, (grammar: Grammar) => string>> = { bash: bashScript, zsh: zshScript, fish: fishScript };

async function readGrammar({ commands }: Program): Promise<Grammar> {
  const names = Object.entries(commands).map(([name, { summary }]) => [name, summary] as const);
  return Promise.all(
    Object.entries(commands).map(async ([name, { summary, load }]) => {
      const command = await load();
      // The argument of help is the name of a command.
      const places = name === "help" ? [{ before: [], words: names }] : listNextWords(command);
      return { name, summary, places, flags: Object.entries(shownFlags(command)) };
    }),
  );
}

/** Lists each sequence of lower-case words that a form can start with, and the words that may follow it. */
function listNextWords(command: Command): NextWords[] {
  const found = new Map<string, NextWords>();
  const visit = (before: readonly string[]): void => {
    const words = nextWords(command, before);
    if (words.length === 0 || found.has(before.join(" "))) return;
    found.set(before.join(" "), { before, words: words.map((word) => [word, ""]) });
    // The recursion ends at the length of the longest form.
    if (before.length < Math.max(...command.usage.map((form) => formWords(form).length)))
      for (const word of words) visit([...before, word]);
  };
  visit([]);
  return [...found.values()];
}
