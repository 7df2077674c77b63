import { createHash } from "node:crypto";
import process from "node:process";
import type { ToolName } from "./tool_name.ts";

/** How to make one or more tools out of one Go module; plain data, so that its digest is its identity. */
export interface Recipe {
  /** Names the lock and the working folder. */
  readonly name: string;
  /** The Go package of each tool. */
  readonly packages: Readonly<Partial<Record<ToolName, string>>>;
  readonly ldflags: string;
  /** `path version` lines of the module that is built from. */
  readonly requires: readonly string[];
  /** `path => path version` lines of the same. */
  readonly replaces: readonly string[];
  /** Source of our own, by path beside go.mod. */
  readonly files?: Readonly<Record<string, string>>;
  /** Set where the source has to be changed before it can be built. */
  readonly source?: PatchedSource;
  /** The system it is built for; this one unless told. */
  readonly target?: "linux";
  /** Go's build tags. */
  readonly tags?: readonly string[];
  /** Set where parts are C, which takes a C compiler; Go alone unless told. */
  readonly isPartlyC?: true;
}

/** A module's own source, cut down and changed. */
export interface PatchedSource {
  /** `path@version`. */
  readonly module: string;
  /** Files and folders to take along; nothing else is. */
  readonly keep: readonly string[];
  readonly drop: readonly string[];
  /** Whole files to write, by path. */
  readonly write: Readonly<Record<string, string>>;
  /** Arguments of `go mod edit`. */
  readonly modEdits: readonly string[];
}

/** The oldest Go that the recipes build with. */
export const wantedGo = { major: 1, minor: 26 } as const;

/** Returns 16 hex digits that change whenever the recipe of this tool, or the machine's kind, does. */
export function recipeDigest(recipe: Recipe, tool: ToolName): string {
  const { packages, ...shared } = recipe;
  const identity = { ...shared, package: packages[tool], os: process.platform, arch: process.arch };
  return createHash("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 16);
}

/** Returns the go.mod of the module from which a recipe is built. */
export function wrapperModule(recipe: Recipe): string {
  const lines = [
    "module ostler.dev/tools",
    `go ${wantedGo.major}.${wantedGo.minor}.0`,
    ...recipe.requires.map((line) => `require ${line}`),
    ...recipe.replaces.map((line) => `replace ${line}`),
  ];
  return lines.join("\n\n") + "\n";
}
