import { NodeSettings } from "../profiles/node_settings.ts";
import { readFlagArguments } from "../profiles/settings/flag_arguments.ts";
import { readDeployment } from "./deployment_file.ts";
import { ProfileLibrary, profileNamed } from "./profile_library.ts";
import { phases, type Rendering, renderMachines, warnOfIgnored } from "./rendering.ts";
import { readSettings, type SettingArguments } from "./settings.ts";
import { styled, type Terminal } from "./terminal.ts";
import { UsageError } from "./usage_error.ts";
import { colouredPatch } from "./view/coloured_patch.ts";
import { createTwoFilesPatch } from "diff";
import type { Phase } from "../profiles/mod.ts";
import { type MachineFile, machineFiles } from "./machine_files.ts";

/** Arguments and flags of `ostler diff` for files. */
export interface DiffOptions extends SettingArguments {
  before: string;
  /** Equals `before` if only settings change. */
  after: string;
  deployment: string;
  files?: string[];
  output: "text" | "json";
  /** Settings of the second rendering only, as `flag=value`. */
  set?: string[];
}

/** Renders both sides and prints how the machines' files differ; returns exit code 0 without a difference, else 1. */
export async function diff(terminal: Terminal, options: DiffOptions): Promise<number> {
  const deployment = await readDeployment(terminal, options.deployment);
  const library = await ProfileLibrary.read(terminal, options.files ?? []);
  const side = async (argument: string, set: string[]): Promise<Rendering> => {
    const argv = [...options.argv, ...set.map(asFlag)];
    const settings = await readSettings(terminal, { argv, config: options.config });
    const wanted = deployment.profile;
    return await renderMachines(await profileNamed(terminal, library, { argument, wanted }), deployment, settings);
  };
  const [before, after] = [await side(options.before, []), await side(options.after, options.set ?? [])];
  warnOfIgnored(terminal, [...before.ignoredSettings, ...after.ignoredSettings]);
  const changes = fileChanges(before, after);
  terminal.out(
    options.output === "json" ? jsonText(before, after, changes) : diffText(terminal, { before, after, changes }),
  );
  return before.digest === after.digest && changes.length === 0 ? 0 : 1;
}

function asFlag(text: string): string {
  const flag = `--${text.replace(/^-+/, "")}`;
  if (readFlagArguments(NodeSettings.shape, [flag]).rest.length === 0) return flag;
  throw new UsageError(`Failed to use --set "${text}": expected FLAG=VALUE with the flag of a machine setting`);
}

function jsonText(before: Rendering, after: Rendering, changes: FileChange[]): string {
  const side = ({ profile, digest, ignoredSettings }: Rendering): object => ({ profile, digest, ignoredSettings });
  return `${JSON.stringify({ before: side(before), after: side(after), changes }, null, 2)}\n`;
}

interface Difference {
  before: Rendering;
  after: Rendering;
  changes: FileChange[];
}

function diffText(terminal: Terminal, { before, after, changes }: Difference): string {
  const side = ({ profile, digest }: Rendering): string => `${profile.name} ${profile.version}, digest ${digest}\n`;
  if (changes.length === 0 && before.digest === after.digest) return `no difference: ${side(after)}`;
  const counts = phases.map((phase) => `${changes.filter((change) => change.phase === phase).length} in ${phase}`);
  const head = `before ${side(before)}after  ${side(after)}${changes.length} changed: ${counts.join(", ")}\n`;
  return head + changes.map((change) => changeText(terminal, change)).join("");
}

function changeText(terminal: Terminal, { phase, path, change, mode, patch }: FileChange): string {
  const modes = change !== "changed" || mode.before === undefined ? "" : `, mode ${mode.before} → ${mode.after}`;
  const title = `=== ${phase} ${path}: ${change}${change === "added" && mode.after ? `, mode ${mode.after}` : modes}`;
  return `\n${styled(terminal, ["bold", "cyan"], title)}\n${colouredPatch(terminal, patch)}`;
}

/** The change of one file between the first and the second rendering. */
interface FileChange {
  phase: Phase;
  path: string;
  change: "added" | "removed" | "changed";
  /** Has both modes if they differ, one mode for an added or removed file, and none if the modes are equal. */
  mode: { before?: string; after?: string };
  /** Unified diff; empty when only the mode changes. */
  patch: string;
}

/** Returns the files that differ, in the order in which machines get them; removed files come last. */
function fileChanges(before: Rendering, after: Rendering): FileChange[] {
  const [left, right] = [byPlace(before), byPlace(after)];
  const places = [...new Set([...right.keys(), ...left.keys()])];
  return places.flatMap((place) => changeOf(left.get(place), right.get(place)));
}

// A config may write a path twice; the machine keeps the last text.
function byPlace({ config }: Rendering): Map<string, MachineFile> {
  return new Map(machineFiles(config).map((file) => [`${file.phase} ${file.path}`, file]));
}

function changeOf(before: MachineFile | undefined, after: MachineFile | undefined): FileChange[] {
  const { phase, path } = (after ?? before)!;
  if (before?.text === after?.text && before?.mode === after?.mode) return [];
  const change = before === undefined ? "added" : after === undefined ? "removed" : "changed";
  const mode = before?.mode === after?.mode
    ? {}
    : { ...(before ? { before: before.mode } : {}), ...(after ? { after: after.mode } : {}) };
  return [{ phase, path, change, mode, patch: patchOf(before, after) }];
}

function patchOf(before: MachineFile | undefined, after: MachineFile | undefined): string {
  if (before !== undefined && before.text === after?.text) return "";
  const nameOf = (side: string, file: MachineFile | undefined): string =>
    file === undefined ? "/dev/null" : `${side}/${file.phase}/${file.path.replace(/^\/+/, "")}`;
  const [left, right] = [nameOf("a", before), nameOf("b", after)];
  const patch = createTwoFilesPatch(left, right, before?.text ?? "", after?.text ?? "");
  return patch.slice(patch.indexOf("---"));
}
