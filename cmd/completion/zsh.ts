/** The completion function for zsh, to be saved as `_kube-proxy` in a folder of `$fpath`. */
export const zshScript = `#compdef kube-proxy
# zsh completion of kube-proxy; load it with: source <(kube-proxy completion zsh)
_kube_proxy() {
  local line word files=
  local -a typed offers open
  typed=("\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}")
  for line in "\${(@f)$("\${words[1]/#\\~/$HOME}" __complete "\${(@)typed}" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then
      files=yes
    elif [[ -n $line ]]; then
      # A colon parts a word from what it does.
      word=\${\${line%%$'\\t'*}//:/\\\\:}
      [[ $line == *$'\\t'* ]] && line=$word:\${line#*$'\\t'} || line=$word
      # Nothing stands after a word that waits for its value.
      if [[ $word == *= ]]; then open+=("$line"); else offers+=("$line"); fi
    fi
  done
  (( $#offers )) && _describe word offers
  (( $#open )) && _describe word open -S ''
  if [[ -n $files ]]; then
    compset -P '-*='
    _files
  fi
}

if [[ \${funcstack[1]-} == _kube_proxy ]]; then
  _kube_proxy "$@"
else
  compdef _kube_proxy kube-proxy
fi
`;
