/** The commands of the documentation to install Ostler, for an existing cluster, Temporal and registry. */
import { readFile } from "node:fs/promises";

/** Values for the placeholders in the commands. */
export interface Places {
  /** Host and port of Temporal. */
  temporal: string;
  /** Host and port of the registry. */
  registry: string;
}

interface InstallCommands {
  setup: string;
  install: string;
  look: string;
}

/** Reads the commands in the first block of docs/how-to/install.md; throws unless there are three. */
export async function installCommands({ temporal, registry }: Places): Promise<InstallCommands> {
  const text = await readFile(new URL("../../../docs/how-to/install.md", import.meta.url), "utf8");
  const [, block = ""] = /```sh\n([\s\S]*?)```/.exec(text) ?? [];
  const commands = block.trim().split("\n");
  const [setup, install, look] = commands.map((command) =>
    command.replaceAll("HOST:7233", temporal).replaceAll("REGISTRY", registry)
  );
  if (commands.length === 3 && setup !== undefined && install !== undefined && look !== undefined) {
    return { setup, install, look };
  }
  throw new Error(`Failed to read docs/how-to/install.md: its first block has ${commands.length} commands, not three`);
}
