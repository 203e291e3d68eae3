/** The script for bash. The line is read by itself: bash cuts words at colons, and scopes have one. */
import type { Grammar } from "./completion.ts";

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
    # What stands after a flag that takes a value is that value.
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
  # Bash puts the reply in the place of what comes after the last colon.
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
