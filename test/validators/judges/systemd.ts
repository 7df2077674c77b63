import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Fault, Judge } from "../judge.ts";
import type { Piece, Units } from "../piece.ts";
import { lackOf, runTool } from "./run_tool.ts";

/** Every line that systemd-analyze prints about a unit is a fault; the units of one machine are loaded together. */
export const systemd: Judge = {
  promise: "systemd loads the units without output",
  judges: (kind) => kind === "units",
  missing: () => lackOf("systemd-analyze", "systemd"),
  async judge(pieces): Promise<Fault[]> {
    const faults: Fault[] = [];
    for (const piece of pieces) faults.push(...await verify(piece));
    return faults;
  },
};

/**
 * Programs that exist on a machine although no profile writes them: those of the system, and those that Ostler's
 * scripts install.
 */
const system = /^\/(usr\/)?s?bin\/\w+$/;
const installed = ["/opt/bin/containerd", "/opt/bin/kubelet"];

const systemUnits = ["/usr/lib/systemd/system", "/lib/systemd/system"];
const unitName = /\.(service|socket|timer|path|mount|automount|swap|target|slice|scope)$/;

async function verify(piece: Piece): Promise<Fault[]> {
  const { texts, programs }: Units = JSON.parse(piece.text);
  const names = [...new Set(Object.keys(texts).map((path) => path.replace(/\.d\/[^/]+$/, "")))];
  const called = Object.values(texts).flatMap((text) => [...text.matchAll(/^Exec\w+=[-@:+!]*(\S+)/gm)])
    .map(([, path = ""]) => path).filter((path) => system.test(path));
  const root = await mkdtemp(join(tmpdir(), "ostler-units-"));
  try {
    await copySystemUnits(root);
    for (const [path, text] of Object.entries(texts)) await put(root, `/etc/systemd/system/${path}`, text);
    for (const path of [...programs, ...installed, ...called]) await put(root, path, "#!/bin/sh\n", 0o755);
    await standIn(root, names);
    const args = ["verify", `--root=${root}`, "--man=no", "--recursive-errors=yes"];
    const { stderr } = await runTool("systemd-analyze", [...args, ...names.map((name) => name.replace("@.", "@x."))]);
    return linesAbout(names, stderr).map((line) => ({ piece, message: line.replaceAll(root, "") }));
  } finally {
    await rm(root, { recursive: true });
  }
}

/**
 * Copies this computer's systemd units into `root`, because Ostler's units refer to targets and services of any system.
 */
async function copySystemUnits(root: string): Promise<void> {
  const from = systemUnits.find((folder) => existsSync(folder)) ?? "";
  const to = join(root, "usr/lib/systemd/system");
  await mkdir(to, { recursive: true });
  for (const name of await readdir(from)) {
    const unit = join(from, name);
    if (unitName.test(name) && (await stat(unit)).isFile()) await copyFile(unit, join(to, name));
  }
}

/**
 * Writes a unit for each drop-in whose unit is missing: systemd reads a drop-in only together with its unit, and on a
 * machine the system or another program brings that unit.
 */
async function standIn(root: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const isThere = ["etc", "usr/lib"].some((folder) => existsSync(join(root, folder, "systemd/system", name)));
    if (!isThere) await put(root, `/usr/lib/systemd/system/${name}`, "[Service]\nExecStart=/opt/bin/kubelet\n");
  }
}

async function put(root: string, path: string, text: string, mode = 0o644): Promise<void> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text, { mode });
}

/** Returns the lines about the given units; the other lines are about the units of this computer. */
function linesAbout(names: readonly string[], stderr: string): string[] {
  const ours = new Set(stderr.split("\n").filter((line) => names.some((name) => line.includes(name))));
  return [...ours];
}
