import { chmod, mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { type MachineFile, machineFiles } from "./machine_files.ts";
import { phases, type Rendering } from "./rendering.ts";
import { UsageError } from "./usage_error.ts";

/**
 * Writes a rendering as a tree: `bootstrap/` and `provisioning/` as on the machine, `bootstrap.yaml` and
 * `provisioning.yaml` (`.ign` for Ignition) as user-data, and `digest`. The folder must be new or empty.
 */
export async function writeTree(rendering: Rendering, folder: string): Promise<void> {
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
    // A path may be given twice, and the first file may be one that not even its owner may write.
    await rm(target, { force: true });
    await writeFile(target, text);
    await chmod(target, Number.parseInt(mode, 8));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isTaken = ["EEXIST", "ENOTDIR", "EISDIR", "ERR_FS_EISDIR"].includes(code ?? "");
    const state = isTaken ? "one path is both a file and a folder" : message;
    throw new UsageError(`Cannot write file "${path}": ${state}`);
  }
}

async function refuseFilled(folder: string): Promise<void> {
  const refuse = ({ code, message }: NodeJS.ErrnoException): never => {
    throw new UsageError(`Cannot write to "${folder}": ${code === "ENOTDIR" ? "it is a file" : message}`);
  };
  const found = await readdir(folder).catch((error) => error.code === "ENOENT" ? [] : refuse(error));
  if (found.length > 0) throw new UsageError(`Cannot write to "${folder}": it is not empty`);
  await mkdir(folder, { recursive: true }).catch(refuse);
}

// The path comes from a profile, and may climb.
function within(folder: string, path: string): string {
  const target = resolve(folder, path.replace(/^\/+/, ""));
  if (target.startsWith(resolve(folder) + sep)) return target;
  throw new UsageError(`Cannot write file "${path}": it leads out of the folder`);
}
