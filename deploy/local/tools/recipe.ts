import { createHash } from "node:crypto";
import process from "node:process";
import type { ToolName } from "./tool_name.ts";

/** How to build one or more tools from one Go module; plain data, so that a digest identifies it. */
export interface Recipe {
  /** Name of the lock and of the working folder. */
  readonly name: string;
  /** Go package of each tool. */
  readonly packages: Readonly<Partial<Record<ToolName, string>>>;
  readonly ldflags: string;
  /** `path version` lines of the wrapper module's go.mod. */
  readonly requires: readonly string[];
  /** `path => path version` lines of the wrapper module's go.mod. */
  readonly replaces: readonly string[];
  /** Texts of source files of this project, by path relative to go.mod. */
  readonly files?: Readonly<Record<string, string>>;
  /** Set if the source must be patched before the build. */
  readonly source?: PatchedSource;
  /** Target operating system; default is the current one. */
  readonly target?: "linux";
  /** Build tags of Go. */
  readonly tags?: readonly string[];
  /** Set if parts are written in C, which requires a C compiler. */
  readonly isPartlyC?: true;
}

/** A patched subset of a module's source. */
export interface PatchedSource {
  /** The module, as `path@version`. */
  readonly module: string;
  /** Files and folders of the module to copy; other files of the module are left out. */
  readonly keep: readonly string[];
  /** Files and folders to delete from the copy. */
  readonly drop: readonly string[];
  /** Texts of files to write into the copy, by path. */
  readonly write: Readonly<Record<string, string>>;
  /** Arguments of `go mod edit`. */
  readonly modEdits: readonly string[];
}

/** The oldest supported version of Go. */
export const wantedGo = { major: 1, minor: 26 } as const;

/** Returns 16 hex digits that change with the recipe of this tool, and with operating system and architecture. */
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
