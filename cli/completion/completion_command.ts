import { Argument, type Command } from "commander";
import type { Wiring } from "../wiring.ts";
import { completionScript, type Shell, shells } from "./scripts.ts";
import { type Suggestion, suggestionsFor } from "./suggestions.ts";

const help = `
  bash  echo 'source <(ostler completion bash)' >> ~/.bashrc
  zsh   echo 'source <(ostler completion zsh)' >> ~/.zshrc
  fish  ostler completion fish > ~/.config/fish/completions/ostler.fish

\`ostler\` has to be on the PATH, as a link to cli/kubectl-ostler. kubectl completes \`kubectl ostler\` by itself when the same
file is linked as kubectl_complete-ostler too.`;

/** Adds `completion SHELL`. */
export function addCompletion(program: Command, wiring: Wiring): void {
  program.command("completion")
    .summary("print a completion script")
    .description("print a script that completes commands, flags, pools and machines in a shell")
    .addArgument(new Argument("<shell>", "which shell").choices(shells))
    .addHelpText("after", help)
    .action((shell: Shell) => wiring.terminal.out(completionScript(shell)));
}

/** What the scripts ask by, in front of the words of the line; the last of them is being typed. */
export const completeWord = "__complete";

/** Answers a script. */
export async function suggested(program: Command, { inWorld }: Wiring, words: readonly string[]): Promise<string> {
  const wanted = suggestionsFor(program, words);
  const typed = words.at(-1) ?? "";
  const names: Suggestion[] = wanted.names === undefined ? [] : await inWorld(wanted.connection, async (world) => {
    const { clusterNames } = await import("./cluster_names.ts");
    return await clusterNames(world, wanted, typed);
  }).catch(() => []); // whoever presses TAB wants no error in the line
  const lines = [...wanted.suggestions, ...names].map(({ word, meaning }) => `${word}\t${meaning}\n`);
  return `${lines.join("")}:${wanted.files ? 0 : 4}\n`;
}
