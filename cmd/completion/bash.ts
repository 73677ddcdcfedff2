import type { CompletedCommand, CompletedFlag } from "./words.ts";

/**
 * A completion function for bash. It needs no bash-completion package; a value after `=` is completed
 * too, though bash makes the sign a word of its own.
 */
export function bashScript(commands: readonly CompletedCommand[]): string {
  const cases = commands.map((command) => {
    const key = command.words.join(" ");
    return [
      `    ${quote(key)})`,
      `      next=${quote(command.next.map(({ word }) => word).join(" "))}`,
      `      flags=${quote(command.flags.flatMap(flagWords).join(" "))}`,
      `      operands=${quote(valueWords(command.operands))}`,
      "      ;;",
    ].join("\n");
  });
  return `# bash completion of kube-proxy; load it with: . <(kube-proxy completion bash)
_kube_proxy_value() {
  case "$1 $2" in
${valueCases(commands)}
    *) value=: ;;
  esac
}

_kube_proxy() {
  local words=() word index command= value= next= flags= operands= current previous
  # Undo what bash does to --name=value: three words, or two while nothing follows the sign.
  for ((index = 1; index <= COMP_CWORD; index++)); do
    word=\${COMP_WORDS[index]}
    if [[ $word == = && \${#words[@]} -gt 0 ]]; then
      words[\${#words[@]}-1]+==
    elif [[ \${#words[@]} -gt 0 && \${words[\${#words[@]}-1]} == -*= ]]; then
      words[\${#words[@]}-1]+=$word
    else
      words+=("$word")
    fi
  done
  current=\${words[\${#words[@]}-1]}
  previous=
  [[ \${#words[@]} -gt 1 ]] && previous=\${words[\${#words[@]}-2]}
  for ((index = 0; index < \${#words[@]} - 1; index++)); do
    word=\${words[index]}
    [[ $word == -* ]] && break
    case "\${command:+$command }$word" in
      ${commandPattern(commands)}) command="\${command:+$command }$word" ;;
      *) break ;;
    esac
  done
  case "$command" in
${cases.join("\n")}
  esac
  COMPREPLY=()
  if [[ $current == --*=* ]]; then
    _kube_proxy_value "$command" "\${current%%=*}"
    _kube_proxy_reply "$value" "\${current#*=}"
  elif [[ $previous == -* && $previous != *=* ]] && _kube_proxy_value "$command" "$previous" && [[ $value != : ]]; then
    _kube_proxy_reply "$value" "$current"
  elif [[ $current == -* ]]; then
    _kube_proxy_reply "$flags" "$current"
  elif [[ $operands == @ask=* ]]; then
    word=$(_kube_proxy_ask "\${operands#@ask=}")
    _kube_proxy_reply "$word" "$current"
  else
    _kube_proxy_reply "$next $operands" "$current"
  fi
  # Nothing stands after a word that waits for its value.
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}

# What the program itself can tell, given what was typed behind the command's words.
_kube_proxy_ask() {
  local typed=("\${words[@]:index:\${#words[@]} - 1 - index}")
  "\${COMP_WORDS[0]/#\\~/$HOME}" __complete "$1" "\${typed[@]}" 2>/dev/null
}

# @file stands for the names of files.
_kube_proxy_reply() {
  local words=\${1//@file/}
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$2")
  if [[ $1 == *@file* ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$2")
  fi
}

complete -F _kube_proxy kube-proxy
`;
}

/** A flag with a value is offered with its equals sign. */
function flagWords({ names, takesValue }: CompletedFlag): string[] {
  return names.map((name) => takesValue && name.startsWith("--") ? `${name}=` : name);
}

function valueWords(value: CompletedFlag["value"]): string {
  if (value.kind === "words") return value.words.join(" ");
  if (value.kind === "asked") return `@ask=${value.question}`;
  return value.kind === "file" ? "@file" : "";
}

/** One case for each flag that takes a value. `:` in the script means: takes none. */
function valueCases(commands: readonly CompletedCommand[]): string {
  return commands.flatMap(({ words, flags }) =>
    flags.filter(({ takesValue }) => takesValue).map(({ names, value }) => {
      const keys = names.map((name) => quote(`${words.join(" ")} ${name}`)).join(" | ");
      return `    ${keys}) value=${quote(valueWords(value))} ;;`;
    })
  ).join("\n");
}

function commandPattern(commands: readonly CompletedCommand[]): string {
  return commands.filter(({ words }) => words.length > 0)
    .map(({ words }) => quote(words.join(" "))).join(" | ");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
