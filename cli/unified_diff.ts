import { createTwoFilesPatch } from "diff";
import type { Phase } from "../profiles/mod.ts";
import { type MachineFile, machineFiles } from "./machine_files.ts";
import type { Rendering } from "./rendering.ts";

/** What becomes of one file when machines boot with the second rendering instead of the first. */
export interface FileChange {
  phase: Phase;
  path: string;
  change: "added" | "removed" | "changed";
  /** Only where they differ, or there is but one; empty for what is no file. */
  mode: { before?: string; after?: string };
  /** Unified diff; empty where only the mode changes. */
  patch: string;
}

/** The files that differ, in the order in which machines get them; removed ones follow. */
export function fileChanges(before: Rendering, after: Rendering): FileChange[] {
  const [left, right] = [byPlace(before), byPlace(after)];
  const places = [...new Set([...right.keys(), ...left.keys()])];
  return places.flatMap((place) => changeOf(left.get(place), right.get(place)));
}

// A path may be written twice; the last one stays.
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
