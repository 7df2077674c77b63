import { resolve } from "node:path";
import { readDeployment } from "./deployment_file.ts";
import { printRendering, type RenderFormat, summaryText } from "./print_rendering.ts";
import { ProfileLibrary, profileNamed } from "./profile_library.ts";
import { renderMachines, warnOfIgnored } from "./rendering.ts";
import { readSettings, type SettingArguments } from "./settings.ts";
import type { Terminal } from "./terminal.ts";
import { writeTree } from "./write_tree.ts";

/** What `ostler render` was asked for. */
export interface RenderOptions extends SettingArguments {
  profile: string;
  deployment: string;
  /** Files and folders with parents. */
  files?: string[];
  output: RenderFormat;
  /** Folder to write to, instead of showing. */
  out?: string;
}

/** Shows or writes what the machines of a MachineDeployment would boot with; gives the exit code. */
export async function render(terminal: Terminal, options: RenderOptions): Promise<number> {
  const settings = await readSettings(terminal, options);
  const deployment = await readDeployment(terminal, options.deployment);
  const library = await ProfileLibrary.read(terminal, options.files ?? []);
  const wanted = deployment.profile;
  const profile = await profileNamed(terminal, library, { argument: options.profile, wanted });
  const rendering = await renderMachines(profile, deployment, settings);
  warnOfIgnored(terminal, rendering.ignoredSettings);
  if (options.out === undefined) {
    printRendering(terminal, rendering, options.output);
  } else {
    await writeTree(rendering, resolve(terminal.directory, options.out));
    terminal.out(summaryText(terminal, rendering));
  }
  return 0;
}
