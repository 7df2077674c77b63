/** The profiles that a command can use: profiles of files, and the built-in ones. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { defaultProfiles, OsProfile, parseProfile, ProfileRefused, resolveProfile } from "../profiles/mod.ts";
import type { Terminal } from "./terminal.ts";
import { UsageError } from "./usage_error.ts";
import { type FieldPath, type Place, placeText, readObjects, type YamlObject } from "./yaml_file.ts";

/** A profile as written. */
export interface ProfileSource {
  name: string;
  /** Not parsed, because it may be invalid. */
  spec: unknown;
  /** Missing for a built-in profile. */
  object?: YamlObject;
}

/** A profile with its parents merged in. */
export interface NamedProfile {
  name: string;
  profile: OsProfile;
  /** The profile as written, then its parents from the nearest on. */
  family: ProfileSource[];
}

const kinds = ["OperatingSystemProfile", "CustomOperatingSystemProfile"];

/** Profiles by name; a profile of a file takes precedence over a built-in one. */
export class ProfileLibrary {
  readonly #sources: ProfileSource[];

  private constructor(sources: ProfileSource[]) {
    this.#sources = sources;
  }

  /** Reads the profiles in files and folders, and adds the built-in ones. */
  static async read(terminal: Terminal, files: readonly string[]): Promise<ProfileLibrary> {
    const read = await Promise.all(files.map((file) => readObjects(terminal, file)));
    const builtIn = await defaultProfiles();
    return new ProfileLibrary([
      ...read.flat().filter(isProfile).map(sourceOf),
      ...builtIn.map(({ metadata, spec }) => ({ name: metadata.name, spec })),
    ]);
  }

  /** Returns a library with these profiles added; they take precedence over present profiles with the same names. */
  with(sources: readonly ProfileSource[]): ProfileLibrary {
    return new ProfileLibrary([...sources, ...this.#sources]);
  }

  find(name: string): ProfileSource | undefined {
    return this.#sources.find((source) => source.name === name);
  }

  /** Parses a profile and merges its parents in; throws ProfileRefused if the profile or a parent is invalid. */
  async resolve(source: ProfileSource): Promise<OsProfile> {
    return await resolveProfile(parseProfile(source.spec), (name) => {
      const parent = this.find(name);
      return Promise.resolve(parent && parseProfile(parent.spec));
    });
  }

  /** Returns a profile, then its ancestors from its parent on; stops at a missing ancestor or a cycle. */
  familyOf(source: ProfileSource): ProfileSource[] {
    const family = [source];
    for (let name = parentName(source); name !== undefined;) {
      const parent = this.find(name);
      if (parent === undefined || family.includes(parent)) break;
      family.push(parent);
      name = parentName(parent);
    }
    return family;
  }
}

function parentName({ spec }: ProfileSource): string | undefined {
  const { extends: parent } = (spec ?? {}) as { extends?: { name?: string } | null };
  return parent?.name;
}

/**
 * Returns the profiles that an argument names: all profiles of a file, or the profile of that name in the library.
 * Throws UsageError if there are none.
 */
export async function profilesNamed(
  terminal: Terminal,
  library: ProfileLibrary,
  argument: string,
): Promise<ProfileSource[]> {
  const isFile = argument === "-" || existsSync(resolve(terminal.directory, argument));
  const known = isFile ? undefined : library.find(argument);
  if (known !== undefined) return [known];
  if (!isFile && !/[/.]/.test(argument)) {
    const names = (await defaultProfiles()).map(({ metadata }) => metadata.name).join(", ");
    throw new UsageError(
      `Failed to find profile "${argument}": no file and no profile has this name; built-in profiles are ${names}`,
    );
  }
  const profiles = (await readObjects(terminal, argument)).filter(isProfile).map(sourceOf);
  if (profiles.length > 0) return profiles;
  throw new UsageError(`Failed to use "${argument}": it has no OperatingSystemProfile`);
}

/**
 * Returns the profile that an argument names, with its parents merged in. Of several profiles in a file, returns the
 * one that the MachineDeployment names (`wanted`).
 */
export async function profileNamed(
  terminal: Terminal,
  library: ProfileLibrary,
  { argument, wanted }: { argument: string; wanted: string | undefined },
): Promise<NamedProfile> {
  const found = await profilesNamed(terminal, library, argument);
  const source = found.length === 1 ? found[0] : found.find(({ name }) => name === wanted);
  if (source === undefined) {
    const names = found.map(({ name }) => name).join(", ");
    throw new UsageError(
      `Failed to choose a profile of "${argument}": annotation k8c.io/operating-system-profile of the ` +
        `MachineDeployment must name one of ${names}`,
    );
  }
  try {
    const whole = library.with(found);
    return { name: source.name, profile: await whole.resolve(source), family: whole.familyOf(source) };
  } catch (error) {
    if (!(error instanceof ProfileRefused)) throw error;
    const invalid = library.with(found).familyOf(source).find(({ spec }) => !OsProfile.safeParse(spec).success) ??
      source;
    const path = ["spec", ...error.at ?? []] as FieldPath;
    const place = error.at?.length ? invalid.object?.placeOf(path) : undefined;
    throw new UsageError(`${placeText(place ?? startOf(invalid))}: ${error.message}`);
  }
}

/** Returns the line at which a profile starts in its file; for a built-in profile, its name in place of a file. */
export function startOf({ name, object }: ProfileSource): Place {
  return object?.placeOf([]) ?? { file: name };
}

function isProfile({ kind }: YamlObject): boolean {
  return kinds.includes(kind);
}

function sourceOf(object: YamlObject): ProfileSource {
  const { metadata, spec } = object.value as { metadata?: { name?: unknown }; spec?: unknown };
  const name = typeof metadata?.name === "string" ? metadata.name : "";
  return { name, spec, object };
}
