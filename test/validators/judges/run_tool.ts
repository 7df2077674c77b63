import { findOnPath } from "../../../deploy/local/tools/environment.ts";

/** Exit code and output of a tool; most tools exit with a code other than 0 if they have findings. */
export interface Said {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs a tool to its end with `input` on its standard input. */
export async function runTool(program: string, args: readonly string[], input = ""): Promise<Said> {
  const command = new Deno.Command(program, { args: [...args], stdin: "piped", stdout: "piped", stderr: "piped" });
  const child = command.spawn();
  const write = async (): Promise<void> => {
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode(input));
    await writer.close();
  };
  const [{ code, stdout, stderr }] = await Promise.all([child.output(), write()]);
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** Returns the reason to skip a test if `program` is not on the PATH; undefined if it is. */
export async function lackOf(program: string, debianPackage: string): Promise<string | undefined> {
  const [path] = await findOnPath(program, Deno.env.toObject());
  return path === undefined ? `no "${program}" on PATH, of Debian's package ${debianPackage}` : undefined;
}
