import { parseArgs } from "node:util";
import { snapshotForm } from "../local/mirror/debian_archives.ts";

/** Parts of a release that can be left out; chart and manifests are always built. */
const optionalParts = ["cli", "image"] as const;
type OptionalPart = typeof optionalParts[number];

/** Target systems of the `ostler` command, by their names in releases. */
export const targets = ["linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64"] as const;
export type Target = typeof targets[number];

export interface ReleaseOptions {
  /** Folder to which the files are written. */
  readonly output: string;
  /**
   * Whether a release may have uncommitted files, and lack its date in CHANGELOG.md, the record of its manifests, or a
   * passed run of `deno task campaign`.
   */
  readonly isDraft: boolean;
  readonly without: readonly OptionalPart[];
  readonly targets: readonly Target[];
  /**
   * Whether, if npm lacks the running version of Deno for a target system, its newest earlier patch release is packed.
   */
  readonly isNearDeno: boolean;
  /** Path of the private key (PEM) that signs the files; "" signs nothing. */
  readonly signKey: string;
  /**
   * The URL of Debian's snapshot from which the image gets its packages; "" for the APT sources of the host that
   * builds.
   */
  readonly snapshot: string;
  readonly help: boolean;
}

/** Thrown for an invalid command line; the program then exits with 2. */
export class UsageError extends Error {}

/** The text of `--help`. */
export const usage = `Build all files of a release, with SHA256SUMS. Nothing is published.

deno task release [flags]

  --output FOLDER   Write files to FOLDER (default dist)
  --draft           Allow a version without a date in CHANGELOG.md, uncommitted files, manifests that are
                    not recorded, and a commit on which deno task campaign did not pass
  --without PARTS   Leave out cli, image, or both, separated by a comma; otherwise a part that cannot be built is
                    an error, which is reported when all other parts are built
  --targets NAMES   Pack the ostler command for these systems: ${targets.join(", ")} (default all)
  --near-deno       If npm lacks this version of Deno for a system, pack the newest earlier patch release and report it;
                    without this flag, the ostler command is not packed for that system
  --sign-key FILE   Sign SHA256SUMS, provenance and images as cosign does, with this unencrypted ECDSA key on P-256
  --snapshot URL    Take the image's Debian packages from this snapshot, .../debian/20260824T000000Z (default APT
                    sources of this host)
  --help            Print this help

Requires Helm and kubectl (found or built like the demo's tools), GNU tar, npm for the ostler command,
and a Docker engine for the image.
Exit codes: 0, all files were built; 1, a file could not be built; 2, usage error.
`;

/** Parses the command line; throws UsageError that names the invalid flag. */
export function parseOptions(args: readonly string[]): ReleaseOptions {
  const given = parse(args);
  const { output, draft, without, targets: named, help, "near-deno": isNearDeno, "sign-key": signKey, snapshot } =
    given;
  if (snapshot !== "" && !snapshotForm.test(snapshot)) {
    throw new UsageError(
      `Invalid --snapshot "${snapshot}": expected an http(s) URL that ends in /debian/ and a timestamp, such as 20260824T000000Z`,
    );
  }
  return {
    ...{ output, isDraft: draft, help, isNearDeno, signKey, snapshot },
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
  "sign-key": string;
  snapshot: string;
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
        "sign-key": { type: "string", default: "" },
        snapshot: { type: "string", default: "" },
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
  if (unknown !== undefined) throw new UsageError(`Invalid ${flag} "${unknown}": accepted are ${all.join(", ")}`);
  return all.filter((name) => names.includes(name));
}
