/** The OSImage of an activity: its strictly validated spec, and access to its repository. */
import { Context } from "@temporalio/activity";
import { inWords } from "../../profiles/fault_words.ts";
import type { Kube } from "../kube/client.ts";
import { readClusterObject } from "../kube/resources.ts";
import { osImages, OSImageSpec } from "../kube/os_images.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { RegistryAway, Unfit, unreachable } from "./fault.ts";
import { readPullCredentials } from "./pull_credentials.ts";
import { parseReference, type Reference } from "./reference.ts";
import { Registry } from "./registry/registry.ts";
import { readTrust, type Trust } from "./trust.ts";

/** Timeout (ms) of all requests of one activity; shorter than the activity's timeout. */
const lookMs = 90_000;

export interface Subject {
  name: string;
  uid: string;
  generation: number;
  /** The spec as stored; `specOf` validates it. */
  spec: unknown;
}

/** Reads the object; undefined if it does not exist or is being deleted. */
export function readSubject(kube: Kube, name: string): Promise<Subject | undefined> {
  return attempting(`read OSImage "${name}"`, async () => {
    const found = await ifFound(readClusterObject(kube, osImages, name));
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) return undefined;
    const { uid, generation = 0 } = found.metadata;
    return { name, uid, generation, spec: found.spec };
  });
}

/** A validated spec, with its parsed reference and its trusted signers. */
export interface Asked {
  spec: OSImageSpec;
  reference: Reference;
  trust: Trust;
}

/** Returns the validated spec. Throws Unfit with the invalid fields. */
export function specOf({ spec }: Subject): Asked {
  const { data, error } = OSImageSpec.safeParse(spec, { error: inWords });
  if (data === undefined) {
    const faults = error.issues.slice(0, 3).map(({ path, message }) => `${["spec", ...path].join(".")}: ${message}`);
    throw new Unfit("SpecInvalid", faults.join("; "));
  }
  const reference = parseReference(data.reference);
  if (reference) return { spec: data, reference, trust: readTrust(data) };
  const needs = 'a registry such as "quay.io", a path, and a tag or a digest';
  throw new Unfit("SpecInvalid", `spec.reference "${data.reference}" must name ${needs}`);
}

/**
 * Runs `work` with access to the repository of a reference. Throws RegistryUnreachable if the registry fails or does
 * not answer.
 */
export async function askingRegistry<T>(
  kube: Kube,
  { spec: { insecure, pullSecret }, reference }: Asked,
  work: (registry: Registry) => Promise<T>,
): Promise<T> {
  const { cancellationSignal, info: { attempt } } = Context.current();
  const late = AbortSignal.timeout(lookMs);
  const signal = AbortSignal.any([cancellationSignal, late]);
  const credentials = pullSecret === undefined
    ? undefined
    : await attempting("read the pull Secret", () => readPullCredentials(kube, pullSecret, reference));
  try {
    return await work(new Registry(reference, { credentials, insecure, signal }));
  } catch (error) {
    const state = error instanceof RegistryAway ? error.message : `timed out after ${lookMs / 1000} s`;
    if (!late.aborted && !(error instanceof RegistryAway)) throw error;
    throw unreachable(`Failed to read repository "${reference.repository}": ${state}`, attempt);
  }
}
