/** The completion for fish. A word with a sign gets no space behind it from fish itself. */
export const fishScript =
  `# fish completion of kube-proxy; load it with: kube-proxy completion fish | source
function __kube_proxy_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r -- '^~' $HOME $typed[1])
    for line in ($program __complete $typed[2..] "$current" 2>/dev/null)
        if test "$line" = :files
            set -l before (string match -r -- '^-[^=]*=' "$current")
            for path in (__fish_complete_path (string replace -- "$before" '' "$current"))
                echo "$before$path"
            end
        else
            echo $line
        end
    end
end

complete -c kube-proxy -e
complete -c kube-proxy -f -a '(__kube_proxy_complete)'
`;
