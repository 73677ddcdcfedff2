/**
 * The completion function for bash. It needs no bash-completion package; a value after `=` is completed
 * too, though bash makes the sign a word of its own.
 */
export const bashScript =
  `# bash completion of kube-proxy; load it with: . <(kube-proxy completion bash)
_kube_proxy() {
  local words=() word index current cut= line
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
  # What stands before the sign is not written again.
  [[ $COMP_WORDBREAKS == *=* && $current == -*=* ]] && cut=\${current%%=*}=
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o filenames 2>/dev/null
      mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "\${current#-*=}")
    else
      word=\${line%%$'\\t'*}
      COMPREPLY+=("\${word#"$cut"}")
    fi
  done < <("\${COMP_WORDS[0]/#\\~/$HOME}" __complete "\${words[@]}" 2>/dev/null)
  # Nothing stands after a word that waits for its value.
  [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}

complete -F _kube_proxy kube-proxy
`;
