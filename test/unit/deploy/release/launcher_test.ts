/** The command starts the same from its archive as from a checkout. */
import { deepEqual, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { launcher } from "../../../../deploy/release/launcher.ts";

function flagsOf(script: string): string[] {
  const [, command = ""] = /\nexec ([^]*)$/.exec(script) ?? [];
  return command.match(/--(allow|unstable|no-prompt)[\w-]*/g)?.sort() ?? [];
}

Deno.test("launcher: gives the command the same permissions as in a checkout", () => {
  const own = readFileSync(new URL("../../../../cli/kubectl-ostler", import.meta.url), "utf8");
  ok(flagsOf(own).length > 5);
  deepEqual(flagsOf(launcher), flagsOf(own));
});

Deno.test("launcher: downloads nothing, and handles the names kubectl-ostler and kubectl_complete-ostler", () => {
  for (const word of ["--cached-only", "--node-modules-dir=manual", "kubectl-ostler)", "kubectl_complete-ostler)"]) {
    ok(launcher.includes(word), word);
  }
});
