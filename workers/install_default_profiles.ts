/** Installs the built-in profiles; a profile that cannot be installed keeps no pool from being served. */
import type { Logger } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import { fateOfDefault, installedAnnotation } from "../activities/config/default_profiles.ts";
import type { Kube } from "../activities/kube/client.ts";
import {
  createObject,
  type OsProfileObject,
  profiles,
  readObject,
  replaceObject,
} from "../activities/kube/resources.ts";
import { attempting, ifFound } from "../activities/kube/status.ts";
import { defaultProfiles } from "../profiles/mod.ts";
import type { Config } from "./config.ts";

type DefaultProfile = Awaited<ReturnType<typeof defaultProfiles>>[number];

/** A profile that could not be installed. */
interface Failure {
  profile: DefaultProfile;
  error: Error;
}

/** Milliseconds before profiles that could not be installed are installed again. */
const installAgainMs = 15_000;

interface InstallDeps {
  log: Pick<Logger, "info" | "warn">;
  signal: AbortSignal;
  pauseMs?: number;
}

/**
 * Tries once to install the built-in profiles, unless they are disabled. Profiles that cannot be installed, for example
 * while the webhook that validates them is unavailable, are retried until `ended` resolves, or `signal` aborts.
 */
export async function installDefaultProfiles(
  kube: Kube,
  { disableDefaultOsps, namespace }: Pick<Config, "disableDefaultOsps" | "namespace">,
  { log, signal, pauseMs = installAgainMs }: InstallDeps,
): Promise<{ ended: Promise<void> }> {
  let said = "";
  const install = async (wanted: DefaultProfile[]): Promise<DefaultProfile[]> => {
    const failures = await installEach(kube, { namespace, log }, wanted);
    const [error] = failures.map((each) => each.error);
    // The same failure is logged once, because it may last until an administrator resolves it.
    if (error && error.message !== said) log.warn(notInstalled, { error });
    said = error?.message ?? "";
    return failures.map(({ profile }) => profile);
  };
  const retry = async (first: DefaultProfile[]): Promise<void> => {
    for (let wanted = first; wanted.length > 0 && !signal.aborted;) {
      await setTimeout(pauseMs, undefined, { signal }).catch(() => undefined); // aborting ends the pause early
      if (!signal.aborted) wanted = await install(wanted);
    }
  };
  return { ended: retry(disableDefaultOsps ? [] : await install(await defaultProfiles())) };
}

const notInstalled = "Failed to install all default profiles; serving pools with the existing ones, and retrying";

/**
 * Creates missing built-in profiles, and replaces existing profiles of the same names as `fateOfDefault` decides.
 * Returns those that could not be installed, because one of them must not keep the others from being installed.
 */
async function installEach(
  kube: Kube,
  { namespace, log }: { namespace: string; log: Pick<Logger, "info"> },
  wanted: DefaultProfile[],
): Promise<Failure[]> {
  const failures: Failure[] = [];
  for (const profile of wanted) {
    const { name } = profile.metadata;
    const installing = attempting(`install profile "${name}"`, async () => {
      const existing = await ifFound(readObject(kube, profiles, { name, namespace }));
      const fate = fateOfDefault(existing, profile.spec.version);
      if (fate === "KeepNewer") {
        const version = existing?.metadata.annotations?.[installedAnnotation];
        return log.info("Keeping a default profile that a newer Ostler installed", { name, version });
      }
      if (fate === "Install") await install(kube, { profile, namespace, existing });
    });
    await installing.catch((error: Error) => void failures.push({ profile, error }));
  }
  return failures;
}

async function install(
  kube: Kube,
  { profile, namespace, existing }: {
    profile: DefaultProfile;
    namespace: string;
    existing: OsProfileObject | undefined;
  },
): Promise<void> {
  const { name } = profile.metadata;
  const { version } = profile.spec;
  const annotations = { ...existing?.metadata.annotations, [installedAnnotation]: version };
  const wanted = { ...profile, metadata: { ...existing?.metadata, name, namespace, annotations } };
  if (!existing) return void await createObject(kube, profiles, wanted);
  // The profile is replaced as a whole: no field of a profile with the same name, such as Operating System Manager's,
  // may remain.
  await replaceObject(kube, profiles, wanted);
}
