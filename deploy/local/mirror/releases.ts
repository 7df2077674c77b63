import { basename } from "node:path";
import type { NodePrograms } from "../tools/node_programs.ts";
import { type Answer, sendFile } from "./answer.ts";
import { type ReleaseFile, releaseFiles } from "./release_files.ts";
import { type StoredFile, storeFile } from "./stored_file.ts";

/** The release files of all programs, with their checksums. */
export interface Releases {
  readonly answer: Answer;
  /** Publishes another SHA-256 for the file of this name, or, without one, the right ones only; throws where there is no such file. */
  spoilChecksum(file: string | undefined): void;
}

type Kept = ReleaseFile & { readonly stored: StoredFile };

/** Prepares the release files in a directory, one after the other. */
export async function prepareReleases(directory: string, programs: NodePrograms): Promise<Releases> {
  const kept: Kept[] = [];
  for (const file of releaseFiles(programs)) kept.push({ ...file, stored: await storeFile(directory, file.content) });
  let spoilt: string | undefined;
  return {
    async answer(request, path): Promise<Response | undefined> {
      const file = kept.find((one) => one.path === path);
      if (file !== undefined) return await sendFile(request, file.stored);
      const published = kept.find((one) => one.checksumPath === path);
      return published && new Response(checksumText(published, spoilt));
    },
    spoilChecksum(file): void {
      const names = kept.map(({ path }) => basename(path));
      if (file === undefined || names.includes(file)) return void (spoilt = file);
      throw new Error(`Cannot spoil the checksum of "${file}": the files are ${names.join(", ")}`);
    },
  };
}

function checksumText({ path, isNamed, stored: { sha256 } }: Kept, spoilt: string | undefined): string {
  const name = basename(path);
  const sum = name === spoilt ? [...sha256].reverse().join("") : sha256;
  return isNamed ? `${sum}  ${name}\n` : sum;
}
