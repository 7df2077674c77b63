import { isLargerThan, largestProfile } from "./object_size.ts";
import { ProfileRefused } from "./refusal.ts";
import type { CloudInitModules, OsFile, OsProfile, OsUnit, ProfilePhase } from "./schema.ts";

/** Finds another profile of the same namespace; undefined when there is none of that name. */
export type ProfileLookup = (name: string) => Promise<OsProfile | undefined>;

/** Most profiles between one and the profile it is built on in the end. */
const deepest = 5;

/**
 * The profile with everything its parents say merged in, so that it stands alone. What the child says counts: files are
 * replaced by path, units by name, snippets and parameters by key; packages and commands follow the parents'. Empty
 * counts as not said. Throws ProfileRefused when a parent is missing, too far away, its own child, or of another kind, or
 * when all of it is too large.
 */
export async function resolveProfile(profile: OsProfile, lookup: ProfileLookup): Promise<OsProfile> {
  const line: OsProfile[] = [profile];
  const names: string[] = [];
  for (let child = profile; child.extends !== undefined; child = line.at(-1) ?? child) {
    const { name } = child.extends;
    const chain = [...names, name].join(" → ");
    if (names.includes(name)) throw cannotExtend(name, `it is among its own parents (${chain})`);
    if (names.length === deepest) {
      throw cannotExtend(name, `at most ${deepest} profiles may follow each other (${chain})`);
    }
    const parent = await parentOf(name, lookup);
    if (parent === undefined) {
      throw cannotExtend(name, `it does not exist${names.length > 0 ? ` (${chain})` : ""}`, "ProfileMissing");
    }
    names.push(name);
    line.push(parent);
  }
  const whole = line.reduceRight((parent, child) => extend({ name: names[line.indexOf(child)] ?? "", parent }, child));
  if (!isLargerThan(whole, largestProfile)) return whole;
  throw cannotExtend(names[0] ?? "", `with all its parents the profile has more than ${largestProfile} bytes`);
}

async function parentOf(name: string, lookup: ProfileLookup): Promise<OsProfile | undefined> {
  try {
    return await lookup(name);
  } catch (error) {
    throw error instanceof ProfileRefused ? cannotExtend(name, error.message) : error;
  }
}

function extend({ name, parent }: { name: string; parent: OsProfile }, child: OsProfile): OsProfile {
  const { extends: _, ...said } = child;
  const templating = said.templating ?? parent.templating ?? "go";
  if (said.osName !== parent.osName) {
    throw cannotExtend(name, `it is for "${parent.osName}", its child for "${said.osName}"`);
  }
  if (templating !== parent.templating) {
    throw cannotExtend(
      name,
      `its templates are written in "${parent.templating}", those of its child in "${templating}"`,
    );
  }
  if (said.provisioningUtility !== parent.provisioningUtility) {
    const both = `it is for "${parent.provisioningUtility}", its child for "${said.provisioningUtility}"`;
    throw cannotExtend(name, `${both}; set provisioningUtility in the child`);
  }
  return {
    ...said,
    osVersion: said.osVersion || parent.osVersion,
    templating,
    ...ignitionVersionOf(said, parent),
    supportedCloudProviders: firstFilled(said.supportedCloudProviders, parent.supportedCloudProviders),
    ...(parent.parameters || said.parameters ? { parameters: { ...parent.parameters, ...said.parameters } } : {}),
    bootstrapConfig: mergePhase(parent.bootstrapConfig, said.bootstrapConfig),
    provisioningConfig: mergePhase(parent.provisioningConfig, said.provisioningConfig),
  };
}

function ignitionVersionOf(...line: OsProfile[]): Pick<OsProfile, "ignitionVersion"> {
  const ignitionVersion = line.map((profile) => profile.ignitionVersion).find((version) => version !== undefined);
  return ignitionVersion === undefined ? {} : { ignitionVersion };
}

type Runtime = NonNullable<ProfilePhase["supportedContainerRuntimes"]>[number];

// A file of a runtime and one of the phase may have the same path: the child's replaces whichever the parent has.
function mergePhase(parent: ProfilePhase, child: ProfilePhase): ProfilePhase {
  const parents = { files: parent.files ?? [], runtimes: parent.supportedContainerRuntimes ?? [] };
  const children = { files: child.files ?? [], runtimes: child.supportedContainerRuntimes ?? [] };
  const own = firstBy("path", [...children.files, ...children.runtimes.flatMap(({ files }) => files)]);
  const known = new Set([...parents.files, ...parents.runtimes.flatMap(({ files }) => files)].map(({ path }) => path));
  const merge = (left: OsFile[], right: OsFile[]): OsFile[] => [
    ...left.map((file) => own.get(file.path) ?? file),
    ...right.filter(({ path }) => !known.has(path)),
  ];
  const runtimes = replaceBy("name", parents.runtimes, children.runtimes).map(({ name }): Runtime => {
    const [left, right] = [parents, children].map((side) => side.runtimes.find((runtime) => runtime.name === name));
    const templates = { ...left?.templates, ...right?.templates };
    return { name, files: merge(left?.files ?? [], right?.files ?? []), templates };
  });
  return withoutEmpty({
    supportedContainerRuntimes: runtimes,
    templates: { ...parent.templates, ...child.templates },
    units: replaceBy("name", parent.units ?? [], child.units ?? []) as OsUnit[],
    files: merge(parents.files, children.files),
    modules: mergeModules(parent.modules ?? {}, child.modules ?? {}),
    packages: [...new Set([...parent.packages ?? [], ...child.packages ?? []])],
  });
}

function mergeModules(parent: CloudInitModules, child: CloudInitModules): CloudInitModules {
  const repos = Object.entries(child.yum_repos ?? {}).map(([name, repo]) => {
    return [name, { ...parent.yum_repos?.[name], ...repo }] as const;
  });
  return withoutEmpty({
    bootcmd: [...parent.bootcmd ?? [], ...child.bootcmd ?? []],
    runcmd: [...parent.runcmd ?? [], ...child.runcmd ?? []],
    rh_subscription: { ...parent.rh_subscription, ...child.rh_subscription },
    yum_repos: { ...parent.yum_repos, ...Object.fromEntries(repos) },
    yum_repo_dir: child.yum_repo_dir || parent.yum_repo_dir || "",
  });
}

/** The left ones in their order, each replaced by the right one of the same key, then the other right ones. */
function replaceBy<K extends string, T extends Record<K, string>>(
  key: K,
  left: readonly T[],
  right: readonly T[],
): T[] {
  const [old, own] = [firstBy(key, left), firstBy(key, right)];
  return [...left.map((one) => own.get(one[key]) ?? one), ...right.filter((one) => !old.has(one[key]))];
}

/** By a key of theirs; a profile may have thousands. */
function firstBy<K extends string, T extends Record<K, string>>(key: K, all: readonly T[]): Map<string, T> {
  return new Map(all.map((one): [string, T] => [one[key], one]).reverse());
}

function firstFilled<T>(first: T[], second: T[]): T[] {
  return first.length > 0 ? first : second;
}

function withoutEmpty<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => Object.keys(value).length > 0)) as T;
}

function cannotExtend(
  name: string,
  why: string,
  reason: "ProfileInvalid" | "ProfileMissing" = "ProfileInvalid",
): ProfileRefused {
  return new ProfileRefused(reason, `Cannot extend profile "${name}": ${why}`);
}
