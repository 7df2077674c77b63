import { Argument, type Command } from "commander";
import type { Wiring } from "../wiring.ts";
import { type Suggestion, suggestionsFor } from "./suggestions.ts";

const help = `
  bash  echo 'source <(ostler completion bash)' >> ~/.bashrc
  zsh   echo 'source <(ostler completion zsh)' >> ~/.zshrc
  fish  ostler completion fish > ~/.config/fish/completions/ostler.fish

Link \`ostler\` on the PATH to cli/kubectl-ostler. kubectl itself completes \`kubectl ostler\` if the same file is
also linked as kubectl_complete-ostler.`;

/** Adds `completion SHELL`. */
export function addCompletion(program: Command, wiring: Wiring): void {
  program.command("completion")
    .summary("print a completion script")
    .description("print a script that completes commands, flags, pools and machines in a shell")
    .addArgument(new Argument("<shell>", "name of the shell").choices(shells))
    .addHelpText("after", help)
    .action((shell: Shell) => wiring.terminal.out(completionScript(shell)));
}

/** The hidden command that completion scripts call with the words of the line; the last word is being typed. */
export const completeWord = "__complete";

/** Returns the completions for the words of a command line, in the format of cobra that is described below. */
export async function suggested(program: Command, { inWorld }: Wiring, words: readonly string[]): Promise<string> {
  const wanted = suggestionsFor(program, words);
  const typed = words.at(-1) ?? "";
  const names: Suggestion[] = wanted.names === undefined ? [] : await inWorld(wanted.connection, async (world) => {
    const { clusterNames } = await import("./cluster_names.ts");
    return await clusterNames(world, wanted, typed);
  }).catch(() => []); // an error must not appear in the line that the user types
  const lines = [...wanted.suggestions, ...names].map(({ word, meaning }) => `${word}\t${meaning}\n`);
  return `${lines.join("")}:${wanted.files ? 0 : 4}\n`;
}

// The scripts that shells run at TAB. They call `ostler __complete WORD...`, which answers in the format of cobra, as
// kubectl expects it of plugins: lines "word<TAB>meaning", and last ":4" if no file is possible, else ":0".

type Shell = "bash" | "zsh" | "fish";
const shells: readonly Shell[] = ["bash", "zsh", "fish"];

/** Returns the script for a shell, which must source it. */
function completionScript(shell: Shell): string {
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
