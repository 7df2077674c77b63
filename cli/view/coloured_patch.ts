import { styled, type Terminal } from "../terminal.ts";

/** Returns a unified diff in the colours of git. */
export function colouredPatch(terminal: Terminal, patch: string): string {
  const styles = { "+": "green", "-": "red", "@": "cyan" } as const;
  return patch.split("\n").map((line) => {
    const style = /^(---|\+\+\+) /.test(line) ? "bold" : styles[line[0] as keyof typeof styles];
    return style === undefined ? line : styled(terminal, style, line);
  }).join("\n");
}
