import { join } from "node:path";
import { type Environment, findOnPath } from "../tools/environment.ts";
import { writeWhole } from "./run_record.ts";

// Number of CAP_SYS_RESOURCE in capabilities(7).
const sysResource = 24n;

/**
 * Returns whether no process can get CAP_SYS_RESOURCE, even with privileges; `status` is the text of /proc/self/status.
 */
export function lacksSysResource(status: string): boolean {
  const bounding = /^CapBnd:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  return bounding !== undefined && (BigInt(`0x${bounding}`) >> sysResource & 1n) === 0n;
}

/**
 * Returns a script that calls runc, but requests CAP_SYS_RESOURCE for no container. On a host that lacks this
 * capability, runc would fail for a container that requests it: "unable to apply caps". The script removes the
 * capability from the bundle's config.json before runc creates a container, and from the process file before runc runs
 * a command in a container.
 */
export function wrapperScript(runc: string): string {
  return `#!/bin/sh
strip() {
  [ ! -f "$1" ] || sed -i -e 's/\\["CAP_SYS_RESOURCE"\\]/[]/g' \\
    -e 's/"CAP_SYS_RESOURCE",//g' -e 's/,"CAP_SYS_RESOURCE"//g' "$1"
}
option= bundle= process= command=
for word in "$@"; do
  case $option in
    bundle) bundle=$word ;;
    process) process=$word ;;
  esac
  option=
  case $word in
    create | run | restore | exec) [ -n "$command" ] || command=$word ;;
    --bundle | -b) option=bundle ;;
    --bundle=*) bundle=\${word#*=} ;;
    --process | -p) option=process ;;
    --process=*) process=\${word#*=} ;;
  esac
done
case $command in
  exec) [ -z "$process" ] || strip "$process" ;;
  ?*) strip "\${bundle:-.}/config.json" ;;
esac
exec '${runc}' "$@"
`;
}

/**
 * Writes the wrapper and returns its path; does nothing and returns undefined if this host does not need it. The folder
 * must allow execution of programs.
 */
export async function ensureRuntimeWrapper(folder: string, env: Environment): Promise<string | undefined> {
  if (!lacksSysResource(await Deno.readTextFile("/proc/self/status"))) return undefined;
  const [runc] = await findOnPath("runc", env);
  if (runc === undefined) throw new Error(`Failed to wrap "runc": it is not on PATH "${env.PATH ?? ""}"`);
  const path = join(folder, "runc");
  await writeWhole(path, wrapperScript(runc));
  await Deno.chmod(path, 0o755);
  return path;
}
