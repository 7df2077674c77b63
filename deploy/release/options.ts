import { parseArgs } from "node:util";

/** What a release has beside chart and manifests, which it always has. */
export const optionalParts = ["cli", "image"] as const;
export type OptionalPart = typeof optionalParts[number];

/** Systems that the command is packed for, as releases call them. */
export const targets = ["linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"] as const;
export type Target = typeof targets[number];

export interface ReleaseOptions {
  /** Folder of everything that is made. */
  readonly output: string;
  /** A version that CHANGELOG.md does not date, from files that no commit has. */
  readonly isDraft: boolean;
  readonly without: readonly OptionalPart[];
  readonly targets: readonly Target[];
  /** Where npm has not this Deno for a system, the newest before it is packed. */
  readonly isNearDeno: boolean;
  readonly help: boolean;
}

/** What stands on the command line cannot be used. */
export class UsageError extends Error {}

/** The text of `--help`. */
export const usage = `Makes everything that a release has, with SHA256SUMS, and sends nothing anywhere.

deno task release [flags]

  --output FOLDER   where it goes (dist)
  --draft           also of a version without a date in CHANGELOG.md, of files that are not committed,
                    of manifests that are not recorded, and of a commit that deno task campaign did not pass on
  --without PARTS   leave out cli, image, or both, joined by a comma; what of them cannot be made is otherwise an error, told
                    when everything else is made
  --targets NAMES   of the command: ${targets.join(", ")} (all)
  --near-deno       where npm has not this Deno for one of them, pack the newest before it that differs in the last
                    number alone, and say so; otherwise that one is not packed
  --help            print this

Needs Helm and kubectl (found or built as the demo's tools are), GNU tar, npm for the command, a Docker engine for the image.
Exit code 0: all of it was made. 1: something could not be. 2: a flag is wrong.
`;

/** Reads the command line; throws UsageError naming what cannot be used. */
export function parseOptions(args: readonly string[]): ReleaseOptions {
  const { output, draft, without, targets: named, help, "near-deno": isNearDeno } = parse(args);
  return {
    ...{ output, isDraft: draft, help, isNearDeno },
    without: chosen("--without", without, optionalParts),
    targets: named === undefined ? targets : chosen("--targets", named, targets),
  };
}

function parse(args: readonly string[]): {
  output: string;
  draft: boolean;
  without: string;
  targets?: string | undefined;
  "near-deno": boolean;
  help: boolean;
} {
  try {
    return parseArgs({
      args: [...args],
      options: {
        output: { type: "string", default: "dist" },
        draft: { type: "boolean", default: false },
        without: { type: "string", default: "" },
        targets: { type: "string" },
        "near-deno": { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function chosen<T extends string>(flag: string, text: string, all: readonly T[]): T[] {
  const names = text.split(",").filter(Boolean);
  const unknown = names.find((name) => !all.includes(name as T));
  if (unknown !== undefined) throw new UsageError(`Cannot use ${flag} "${unknown}": there are ${all.join(", ")}`);
  return all.filter((name) => names.includes(name));
}
