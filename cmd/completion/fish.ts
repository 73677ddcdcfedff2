import type { CompletedCommand, CompletedFlag } from "./words.ts";

/** Completions for fish, one line for each word that can be offered. */
export function fishScript(commands: readonly CompletedCommand[]): string {
  const known = commands.filter(({ words }) => words.length > 0)
    .map(({ words }) => quote(words.join(" "))).join(" ");
  return `# fish completion of kube-proxy; load it with: kube-proxy completion fish | source
function __kube_proxy_at
    set -l command
    for word in (commandline -opc)[2..]
        string match -q -- '-*' $word; and break
        set -l longer (string join ' ' $command $word)
        contains -- $longer ${known}; or break
        set command $longer
    end
    test "$command" = "$argv[1]"
end

# What the program itself can tell, given what was typed behind the command's words.
function __kube_proxy_ask
    set -l typed (commandline -opc)
    $typed[1] __complete $argv[1] $typed[4..] 2>/dev/null
end

complete -c kube-proxy -e
complete -c kube-proxy -f
${commands.flatMap(commandLines).join("\n")}
`;
}

function commandLines({ words, next, flags, operands }: CompletedCommand): string[] {
  const condition = `-n ${quote(`__kube_proxy_at ${quote(words.join(" "))}`)}`;
  const start = `complete -c kube-proxy ${condition}`;
  return [
    ...next.map(({ word, summary }) => `${start} -a ${quote(word)} -d ${quote(summary)}`),
    ...flags.map((flag) => `${start} ${flagOptions(flag)}`),
    ...(operands.kind === "words" ? [`${start} -a ${quote(operands.words.join(" "))}`] : []),
    ...(operands.kind === "asked"
      ? [`${start} -a ${quote(`(__kube_proxy_ask ${operands.question})`)}`]
      : []),
    ...(operands.kind === "file" ? [`${start} -F`] : []),
  ];
}

function flagOptions({ names, summary, takesValue, value }: CompletedFlag): string {
  const short = names.find((name) => !name.startsWith("--"));
  const long = names.find((name) => name.startsWith("--"));
  return [
    ...(short ? [`-s ${short.slice(1)}`] : []),
    ...(long ? [`-l ${long.slice(2)}`] : []),
    ...(takesValue ? ["-r"] : []),
    ...(value.kind === "words" ? [`-a ${quote(value.words.join(" "))}`] : []),
    ...(value.kind === "file" ? ["-F"] : []),
    `-d ${quote(summary)}`,
  ].join(" ");
}

function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
