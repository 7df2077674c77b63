/**
 * Packages the chart, and writes the plain manifests of deploy/kubernetes and deploy/overlays as files for `kubectl
 * apply`.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runHelm } from "./chart/render_chart.ts";
import { run, type Source } from "./source.ts";
import { atOneTime } from "./steady_tar.ts";

/** Folders for `kubectl apply -k`; each key is the name of the release file that is made from the folder. */
const folders: Readonly<Record<string, string>> = {
  "ostler": "kubernetes",
  "ostler-setup": "kubernetes/setup",
  "ostler-webhook": "kubernetes/webhook",
  "ostler-before-1.36": "overlays/before_1.36",
};

interface Tools {
  readonly helm: string;
  readonly kubectl: string;
}

/** Writes ostler-VERSION.tgz; returns the file name. */
export async function packChart({ helm }: Tools, { version, time }: Source, output: string): Promise<string[]> {
  const work = await mkdtemp(join(tmpdir(), "ostler-release-"));
  try {
    await runHelm(["package", `--destination=${work}`], { helm });
    const name = `ostler-${version}.tgz`;
    await writeFile(join(output, name), atOneTime(await readFile(join(work, name)), time));
    return [name];
  } finally {
    await rm(work, { recursive: true });
  }
}

/** Writes one manifest file per folder for `kubectl apply -f`; returns the file names. */
export async function writeManifests({ kubectl }: Tools, { version }: Source, output: string): Promise<string[]> {
  const names: string[] = [];
  for (const [name, folder] of Object.entries(folders)) {
    const file = `${name}-${version}.yaml`;
    await writeFile(join(output, file), await run(kubectl, ["kustomize", join("deploy", folder)]));
    names.push(file);
  }
  return names;
}
