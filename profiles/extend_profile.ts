import { isLargerThan, largestProfile } from "./object_size.ts";
import { ProfileRefused } from "./refusal.ts";
import type { CloudInitModules, OsFile, OsProfile, OsUnit, ProfilePhase } from "./schema.ts";

/** Returns the profile of this name in the namespace of the child; undefined if there is none. */
export type ProfileLookup = (name: string) => Promise<OsProfile | undefined>;

/** The maximum number of parents of a profile. */
const deepest = 5;

/**
 * Returns the profile with all its parents merged in. The child wins: files are replaced by path, units by name,
 * snippets and parameters by key; packages and commands are appended to those of the parents. Empty fields count as not
 * set. Throws ProfileRefused if a parent is missing, or differs from its child in osName, template language or
 * provisioning utility. Throws it also if a profile extends itself through its parents, if there are more than five
 * parents, or if the merged profile is too large.
 */
export async function resolveProfile(profile: OsProfile, lookup: ProfileLookup): Promise<OsProfile> {
  const line: OsProfile[] = [profile];
  const names: string[] = [];
  for (let child = profile; child.extends !== undefined; child = line.at(-1) ?? child) {
    const { name } = child.extends;
    const chain = [...names, name].join(" → ");
    if (names.includes(name)) throw cannotExtend(name, `it extends itself (${chain})`);
    if (names.length === deepest) {
      throw cannotExtend(name, `a profile can have at most ${deepest} parents (${chain})`);
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
  throw cannotExtend(names[0] ?? "", `the profile with all its parents must have at most ${largestProfile} bytes`);
}

async function parentOf(name: string, lookup: ProfileLookup): Promise<OsProfile | undefined> {
  try {
    return await lookup(name);
  } catch (error) {
    throw error instanceof ProfileRefused ? cannotExtend(name, error.message) : error;
  }
}

function extend({ name, parent }: { name: string; parent: OsProfile }, child: OsProfile): OsProfile {
  const { extends: _, ...own } = child;
  const templating = own.templating ?? parent.templating ?? "go";
  const refuseDifference = (field: string, [parents, childs]: (string | undefined)[], remedy = ""): void => {
    if (parents === childs) return;
    throw cannotExtend(name, `its ${field} is "${parents}", but that of its child is "${childs}"${remedy}`);
  };
  refuseDifference("osName", [parent.osName, own.osName]);
  refuseDifference("templating", [parent.templating, templating]);
  const utility = parent.provisioningUtility;
  const remedy = `; set provisioningUtility to "${utility}" in the child`;
  refuseDifference("provisioningUtility", [utility, own.provisioningUtility], remedy);
  return {
    ...own,
    osVersion: own.osVersion || parent.osVersion,
    templating,
    ...ignitionVersionOf(own, parent),
    supportedCloudProviders: firstFilled(own.supportedCloudProviders, parent.supportedCloudProviders),
    ...(parent.parameters || own.parameters ? { parameters: { ...parent.parameters, ...own.parameters } } : {}),
    bootstrapConfig: mergePhase(parent.bootstrapConfig, own.bootstrapConfig),
    provisioningConfig: mergePhase(parent.provisioningConfig, own.provisioningConfig),
  };
}

function ignitionVersionOf(...line: OsProfile[]): Pick<OsProfile, "ignitionVersion"> {
  const ignitionVersion = line.map((profile) => profile.ignitionVersion).find((version) => version !== undefined);
  return ignitionVersion === undefined ? {} : { ignitionVersion };
}

type Runtime = NonNullable<ProfilePhase["supportedContainerRuntimes"]>[number];

// A child's file replaces the parent's file of the same path, even if only one of them belongs to a container runtime.
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

/**
 * Returns the left items in their order, each replaced by the right item of the same key, then the other right items.
 */
function replaceBy<K extends string, T extends Record<K, string>>(
  key: K,
  left: readonly T[],
  right: readonly T[],
): T[] {
  const [old, own] = [firstBy(key, left), firstBy(key, right)];
  return [...left.map((one) => own.get(one[key]) ?? one), ...right.filter((one) => !old.has(one[key]))];
}

/** Returns the first item of each key, as a Map because a profile can have thousands of files. */
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
  return new ProfileRefused(reason, `Failed to extend profile "${name}": ${why}`);
}
