/** States how the files of a release were built, as a statement of in-toto with the predicate of SLSA 1.0. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { digestOf } from "./checksums.ts";
import type { BaseImage } from "./image/base_image.ts";
import { root, type Source } from "./source.ts";

/** The parameters of the command line that decide what is built. */
interface BuildParameters {
  readonly targets: readonly string[];
  readonly without: readonly string[];
  readonly snapshot: string;
}

/**
 * Writes the statement about these files of a folder, and returns its file name. The statement has no times, so that
 * two builds of one commit from the same images result in the same statement.
 */
export async function writeProvenance(
  folder: string,
  names: readonly string[],
  { source, parameters, bases }: { source: Source; parameters: BuildParameters; bases: readonly BaseImage[] },
): Promise<string> {
  const { version, commit, isChanged } = source;
  const subject = await Promise.all(
    names.toSorted().map(async (name) => {
      return { name, digest: { sha256: await digestOf(join(folder, name)) } };
    }),
  );
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject,
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "https://ostler.dev/builds/release/v1",
        externalParameters: { version, ...parameters },
        internalParameters: { hasUncommittedFiles: isChanged },
        resolvedDependencies: [
          { name: "source", digest: { gitCommit: commit } },
          { name: "deno.lock", digest: { sha256: await digestOf(join(root, "deno.lock")) } },
          { name: "deno", annotations: { version: Deno.version.deno } },
          ...bases,
        ],
      },
      runDetails: { builder: { id: "https://ostler.dev/builders/deno-task-release" } },
    },
  };
  const name = `ostler-${version}.intoto.json`;
  await writeFile(join(folder, name), `${JSON.stringify(statement, null, 2)}\n`);
  return name;
}
