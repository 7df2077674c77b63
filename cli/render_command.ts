import { dirname, join, resolve, sep } from "node:path";
import { readDeployment } from "./deployment_file.ts";
import { ProfileLibrary, profileNamed } from "./profile_library.ts";
import { phases, type Rendering, renderMachines, sizeText, warnOfIgnored } from "./rendering.ts";
import { readSettings, type SettingArguments } from "./settings.ts";
import { styled, type Terminal } from "./terminal.ts";
import { chmod, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { type MachineFile, machineFiles } from "./machine_files.ts";
import { UsageError } from "./usage_error.ts";
import { stringify } from "yaml";

/** Arguments and flags of `ostler render`. */
export interface RenderOptions extends SettingArguments {
  profile: string;
  deployment: string;
  /** Files and folders with parent profiles. */
  files?: string[];
  output: RenderFormat;
  /** Folder to write to, instead of printing. */
  out?: string;
}

/** Prints or writes the files that the machines of a MachineDeployment would boot with; returns the exit code. */
export async function render(terminal: Terminal, options: RenderOptions): Promise<number> {
  const settings = await readSettings(terminal, options);
  const deployment = await readDeployment(terminal, options.deployment);
  const library = await ProfileLibrary.read(terminal, options.files ?? []);
  const wanted = deployment.profile;
  const profile = await profileNamed(terminal, library, { argument: options.profile, wanted });
  const rendering = await renderMachines(profile, deployment, settings);
  warnOfIgnored(terminal, rendering.ignoredSettings);
  for (const warning of deployment.warnings) terminal.err(`warning: ${warning}\n`);
  if (options.out === undefined) {
    printRendering(terminal, rendering, options.output);
  } else {
    await writeTree(rendering, resolve(terminal.directory, options.out));
    terminal.out(summaryText(terminal, rendering));
  }
  return 0;
}

/**
 * Writes a rendering as a tree: `bootstrap/` and `provisioning/` as on the machine, `bootstrap.yaml` and
 * `provisioning.yaml` (`.ign` for Ignition) as user-data, and `digest`. The folder must be new or empty.
 */
async function writeTree(rendering: Rendering, folder: string): Promise<void> {
  const files = machineFiles(rendering.config).filter(({ mode }) => mode !== "")
    .map((file) => ({ ...file, target: within(join(folder, file.phase), file.path) }));
  await refuseFilled(folder);
  for (const file of files) await writeOne(file);
  const extension = rendering.config.provisioningUtility === "ignition" ? "ign" : "yaml";
  for (const phase of phases) await writeFile(join(folder, `${phase}.${extension}`), rendering.userData[phase]);
  await writeFile(join(folder, "digest"), `${rendering.digest}\n`);
}

async function writeOne({ target, path, mode, text }: MachineFile & { target: string }): Promise<void> {
  try {
    await mkdir(dirname(target), { recursive: true });
    // A config may write a path twice, and the first file may be read-only even for its owner.
    await rm(target, { force: true });
    await writeFile(target, text);
    await chmod(target, Number.parseInt(mode, 8));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isTaken = ["EEXIST", "ENOTDIR", "EISDIR", "ERR_FS_EISDIR"].includes(code ?? "");
    const state = isTaken ? "the profile uses one path as both a file and a folder" : message;
    throw new UsageError(`Failed to write file "${path}": ${state}`);
  }
}

async function refuseFilled(folder: string): Promise<void> {
  const refuse = ({ code, message }: NodeJS.ErrnoException): never => {
    throw new UsageError(`Failed to write to "${folder}": ${code === "ENOTDIR" ? "it is a file" : message}`);
  };
  const found = await readdir(folder).catch((error) => error.code === "ENOENT" ? [] : refuse(error));
  if (found.length > 0) {
    throw new UsageError(`Failed to write to "${folder}": it is not empty; give a new or empty folder`);
  }
  await mkdir(folder, { recursive: true }).catch(refuse);
}

// The path comes from a profile, and may lead out of the folder with `..`.
function within(folder: string, path: string): string {
  const target = resolve(folder, path.replace(/^\/+/, ""));
  if (target.startsWith(resolve(folder) + sep)) return target;
  throw new UsageError(`Failed to write file "${path}": the path leads out of the folder`);
}

/** Output formats. */
type RenderFormat = "text" | "json" | "yaml";

/** Prints everything that machines would boot with. */
function printRendering(terminal: Terminal, rendering: Rendering, format: RenderFormat): void {
  if (format === "json") return terminal.out(`${JSON.stringify(plain(rendering), null, 2)}\n`);
  if (format === "yaml") return terminal.out(stringify(plain(rendering), { lineWidth: 0 }));
  terminal.out(summaryText(terminal, rendering));
  for (const file of machineFiles(rendering.config)) terminal.out(fileText(terminal, file));
}

/** Returns profile, machines, digest and the size of the user-data. */
function summaryText(terminal: Terminal, { profile, deployment, config, digest, userData }: Rendering): string {
  const { namespace, name, kubelet } = deployment.deployment;
  const sizes = phases.map((phase) => `${phase} ${sizeText(userData[phase])}`).join(", ");
  const lines = {
    profile: `${profile.name} ${profile.version}`,
    machines: `${namespace}/${name}, kubelet ${kubelet} on ${config.cloudProvider.name}`,
    digest,
    "user-data": sizes,
  };
  return Object.entries(lines).map(([key, text]) => `${styled(terminal, "bold", key.padEnd(9))} ${text}\n`).join("");
}

function fileText(terminal: Terminal, { phase, path, mode, text }: MachineFile): string {
  const title = `=== ${phase} ${path}${mode && ` ${mode}`}`;
  return `\n${styled(terminal, ["bold", "cyan"], title)}\n${text}${text === "" || text.endsWith("\n") ? "" : "\n"}`;
}

function plain(rendering: Rendering): object {
  const { profile, deployment, config, digest, userData, ignoredSettings } = rendering;
  const { namespace, name, kubelet } = deployment.deployment;
  const { bootstrapConfig, provisioningConfig, ...rest } = config;
  const files = machineFiles(rendering.config).filter(({ mode }) => mode !== "");
  const phaseOf = (phase: "bootstrap" | "provisioning", { files: _, ...told }: typeof bootstrapConfig): object => ({
    files: files.filter((file) => file.phase === phase).map(({ path, mode, text }) => ({ path, mode, content: text })),
    ...told,
    userData: userData[phase],
  });
  return {
    profile,
    machineDeployment: { namespace, name, kubelet },
    digest,
    ignoredSettings,
    warnings: deployment.warnings,
    ...rest,
    bootstrap: phaseOf("bootstrap", bootstrapConfig),
    provisioning: phaseOf("provisioning", provisioningConfig),
  };
}
