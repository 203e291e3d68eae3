/** Completion scripts for bash, zsh and fish, generated from the grammar of the commands. */
import type { FlagRow } from "./command.ts";

/** The words that can follow the words `before`, each with its meaning or an empty string. */
export type NextWords = { before: readonly string[]; words: readonly (readonly [word: string, means: string])[] };

type CommandGrammar = {
  name: string;
  summary: string;
  places: readonly NextWords[];
  flags: readonly (readonly [name: string, row: FlagRow])[];
};
export type Grammar = readonly CommandGrammar[];

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export function bashScript(grammar: Grammar): string {
  const words = [
    `      '') choices=${quote(grammar.map(({ name }) => name).join(" "))} ;;`,
    ...grammar.flatMap(({ name, places }) =>
      places.map(
        ({ before, words: next }) =>
          `      ${quote([name, ...before].join(" "))}) choices=${quote(next.map(([word]) => word).join(" "))} ;;`,
      ),
    ),
  ];
  const flags = grammar.map(
    ({ name, flags: rows }) => `      ${quote(name)}) choices=${quote(rows.map(([flag]) => `--${flag}`).join(" "))} ;;`,
  );
  const values = grammar.flatMap(({ name, flags: rows }) =>
    rows
      .filter(([, { type }]) => type === "string")
      .map(
        ([flag, { choices = [], isList }]) =>
          `    ${quote(`${name} --${flag}`)}) takes=${isList ? "list" : "one"}; choices=${quote(choices.join(" "))} ;;`,
      ),
  );
  return `# godwit for bash. In ~/.bashrc: source <(godwit completion bash)
_godwit() {
  local line="\${COMP_LINE:0:COMP_POINT}" current token previous='' path='' choices='' takes='' before='' reply
  local -a tokens
  current="\${line##*[[:space:]]}"
  read -r -a tokens <<< "\${line%"$current"}"
  for token in "\${tokens[@]:1}"; do
    # The word after a flag that takes a value is that value.
    if [[ $token != -* ]]; then
      _godwit_values "\${path%% *} $previous"
      [[ -z $takes ]] && path="\${path:+$path }$token"
    fi
    takes=''
    previous=$token
  done
  if [[ $current == --*=* ]]; then
    previous="\${current%%=*}"
    current="\${current#*=}"
  fi
  _godwit_values "\${path%% *} $previous"
  if [[ -n $takes ]]; then
    [[ $takes == list && $current == *,* ]] && before="\${current%,*},"
  elif [[ $current == -* ]]; then
    choices=''
    case "\${path%% *}" in
${flags.join("\n")}
    esac
  else
    choices=''
    case "$path" in
${words.join("\n")}
    esac
  fi
  COMPREPLY=()
  local -a all
  read -r -a all <<< "$choices"
  for reply in "\${all[@]}"; do
    [[ $before$reply == "$current"* ]] && COMPREPLY+=("$before$reply")
  done
  # Bash replaces only the text after the last colon with the reply.
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    local head="\${current%"\${current##*:}"}"
    COMPREPLY=("\${COMPREPLY[@]#"$head"}")
  fi
}
# Sets takes and choices for a flag that takes a value.
_godwit_values() {
  takes='' choices=''
  case "$1" in
${values.join("\n")}
  esac
}
complete -o default -F _godwit godwit
`;
}

const quoteFish = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

export function fishScript(grammar: Grammar): string {
  const lines = grammar.flatMap((command) => [
    `complete -c godwit -n '__fish_use_subcommand' -a ${quoteFish(command.name)} -d ${quoteFish(command.summary)}`,
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
        `complete -c godwit -n ${quoteFish(`__godwit_at ${[name, ...before].join(" ")}`)} -a ${quoteFish(word)}${means === "" ? "" : ` -d ${quoteFish(means)}`}`,
    ),
  );

const flagLines = ({ name, flags }: CommandGrammar): string[] =>
  flags.map(([flag, { type, help, choices, isList }]) => {
    const values = choices?.map((choice) => quoteFish(choice)).join(" ");
    const takes =
      type === "boolean"
        ? ""
        : values === undefined
          ? " -r -F"
          : ` -x -a ${quoteFish(isList ? `(__fish_append , ${values})` : (choices?.join(" ") ?? ""))}`;
    return `complete -c godwit -n '__fish_seen_subcommand_from ${name}' -l ${flag}${takes} -d ${quoteFish(help)}`;
  });

/** Joins a word and its meaning with a colon, as zsh expects. */
const described = (word: string, means: string): string => quote(`${word.replaceAll(":", "\\:")}:${means.replaceAll(":", "\\:")}`);

export function zshScript(grammar: Grammar): string {
  const list = (rows: readonly (readonly [string, string])[]): string => rows.map(([word, means]) => described(word, means)).join(" ");
  const words = [
    `    '') choices=(${list(grammar.map(({ name, summary }) => [name, summary]))}) ;;`,
    ...grammar.flatMap(({ name, places }) =>
      places.map(({ before, words: next }) => `    ${quote([name, ...before].join(" "))}) choices=(${list(next)}) ;;`),
    ),
  ];
  const flags = grammar.map(
    ({ name, flags: rows }) => `      ${quote(name)}) choices=(${list(rows.map(([flag, { help }]) => [`--${flag}`, help]))}) ;;`,
  );
  const values = grammar.flatMap(({ name, flags: rows }) =>
    rows
      .filter(([, { type }]) => type === "string")
      .map(
        ([flag, { choices = [], isList }]) =>
          `    ${quote(`${name} --${flag}`)}) takes=${isList ? "list" : "one"}; choices=(${choices.map(quote).join(" ")}) ;;`,
      ),
  );
  return `#compdef godwit
# godwit for zsh: godwit completion zsh > "\${fpath[1]}/_godwit"
_godwit() {
  local token previous='' place='' takes=''
  local -a choices
  for token in "\${(@)words[2,CURRENT-1]}"; do
    # The word after a flag that takes a value is that value.
    if [[ $token != -* ]]; then
      _godwit_values "\${place%% *} $previous"
      [[ -z $takes ]] && place="\${place:+$place }$token"
    fi
    previous=$token
  done
  _godwit_values "\${place%% *} $previous"
  if [[ -n $takes ]]; then
    if (( ! $#choices )); then
      _files
      return
    fi
    [[ $takes == list ]] && compset -P '*,'
    compadd -a choices
    return
  fi
  choices=()
  if [[ $PREFIX == -* ]]; then
    case "\${place%% *}" in
${flags.join("\n")}
    esac
    _describe -o flag choices
    return
  fi
  case "$place" in
${words.join("\n")}
  esac
  _describe word choices
}
# Sets takes and choices for a flag that takes a value.
_godwit_values() {
  takes='' choices=()
  case "$1" in
${values.join("\n")}
  esac
}
if [[ $funcstack[1] == _godwit ]]; then _godwit "$@"; else compdef _godwit godwit; fi
`;
}
