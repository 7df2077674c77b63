/**
 * What the shells run at TAB. They ask `ostler __complete WORD...`, which answers in the way of cobra, as kubectl wants it
 * of its plugins too: lines "word<TAB>meaning", and last ":4" where no file may stand, else ":0".
 */

export type Shell = "bash" | "zsh" | "fish";
export const shells: readonly Shell[] = ["bash", "zsh", "fish"];

/** The script for a shell; it is sourced. */
export function completionScript(shell: Shell): string {
  return { bash, zsh, fish }[shell];
}

const bash = `# ostler completion for bash: source <(ostler completion bash)
_ostler() {
  local answer line word
  COMPREPLY=()
  answer=$("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return
  while IFS= read -r line; do
    [[ $line == :* ]] && break
    word=\${line%%$'\\t'*}
    COMPREPLY+=("$(printf '%q' "$word")")
  done <<< "$answer"
  if [[ $answer == *":0" && \${#COMPREPLY[@]} -eq 0 ]]; then
    compopt -o default 2>/dev/null
  fi
}
# A colon and a slash are parts of the names here, not ends of words.
complete -F _ostler ostler
`;

const zsh = `#compdef ostler
# ostler completion for zsh: source <(ostler completion zsh)
_ostler() {
  local -a lines items
  local line word meaning
  lines=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in $lines; do
    [[ $line == :* ]] && break
    word=\${line%%$'\\t'*}
    meaning=\${line#*$'\\t'}
    items+=("\${word//:/\\\\:}:$meaning")
  done
  if (( \${#items} )); then
    _describe 'ostler' items
  elif [[ \${lines[-1]} == ":0" ]]; then
    _files
  fi
}
compdef _ostler ostler
`;

const fish = `# ostler completion for fish: ostler completion fish | source
function __ostler_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    set -l answer ($words[1] __complete $words[2..-1] "$token" 2>/dev/null)
    if test (count $answer) -eq 1; and test "$answer[-1]" = ":0"
        __fish_complete_path (commandline -ct)
        return
    end
    string match -v ':*' -- $answer
end
complete -c ostler -f -a '(__ostler_complete)'
`;
