import type { CompletedCommand, CompletedFlag } from "./words.ts";

/** A completion function for zsh, to be saved as `_kube-proxy` in a folder of `$fpath`. */
export function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef kube-proxy
# zsh completion of kube-proxy; load it with: source <(kube-proxy completion zsh)
_kube_proxy() {
  local curcontext=$curcontext state line command= index word program=$words[1]
  typeset -A opt_args
  for ((index = 2; index < CURRENT; index++)); do
    word=\${words[index]}
    [[ $word == -* ]] && break
    case "\${command:+$command }$word" in
      (${commandPattern(commands)}) command="\${command:+$command }$word" ;;
      (*) break ;;
    esac
  done
  # What follows sees only its own words.
  if [[ -n $command ]]; then
    local -i taken=\${#\${=command}}
    words=("kube-proxy" "\${(@)words[2 + taken, -1]}")
    (( CURRENT -= taken ))
  fi
  case "$command" in
${commands.map(commandCase).join("\n")}
  esac
}

if [[ \${funcstack[1]-} == _kube_proxy ]]; then
  _kube_proxy "$@"
else
  compdef _kube_proxy kube-proxy
fi
`;
}

function commandCase({ words, next, flags, operands }: CompletedCommand): string {
  const first = next.length > 0
    ? [
      quote(`1:command:((${next.map(({ word, summary }) => described(word, summary)).join(" ")}))`),
    ]
    : operands.kind === "none"
    ? []
    : [quote(`*:operand:${action(operands)}`)];
  const specs = [...flags.flatMap(flagSpecs), ...first];
  return [
    `    (${quote(words.join(" "))})`,
    "      _arguments \\",
    `${specs.map((spec) => `        ${spec}`).join(" \\\n")}`,
    "      ;;",
  ].join("\n");
}

function flagSpecs({ names, summary, takesValue, value }: CompletedFlag): string[] {
  return names.map((name) => {
    const equals = takesValue ? name.startsWith("--") ? "=" : "+" : "";
    const argument = takesValue ? `:value:${action(value)}` : "";
    return quote(`*${name}${equals}[${escape(summary)}]${argument}`);
  });
}

function action(value: CompletedFlag["value"]): string {
  // The program itself can tell, given what was typed behind the command's words.
  if (value.kind === "asked") {
    return `{compadd -- \${(f)"$($program __complete ${value.question} \${words[2,CURRENT-1]} 2>/dev/null)"}}`;
  }
  if (value.kind === "words") return `(${value.words.map(escape).join(" ")})`;
  return value.kind === "file" ? "_files" : " ";
}

function described(word: string, summary: string): string {
  return `${word}\\:"${escape(summary).replaceAll('"', '\\"')}"`;
}

/** Colons and brackets mean something in a spec. */
function escape(text: string): string {
  return text.replace(/[[\]:\\]/g, "\\$&");
}

function commandPattern(commands: readonly CompletedCommand[]): string {
  return commands.filter(({ words }) => words.length > 0)
    .map(({ words }) => quote(words.join(" "))).join("|");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
