/** The script for zsh, which shows what words and flags mean. */
import type { Grammar } from "./completion.ts";

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** A word and its meaning, which zsh wants apart by a colon. */
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
    # What stands after a flag that takes a value is that value.
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
