/** The object that an activity is about: its spec read strictly, and the repository that it names. */
import { Context } from "@temporalio/activity";
import type { Kube } from "../kube/client.ts";
import { readClusterObject } from "../kube/resources.ts";
import { osImages, OSImageSpec } from "../kube/os_images.ts";
import { attempting, ifFound } from "../kube/status.ts";
import { RegistryAway, Unfit, unreachable } from "./fault.ts";
import { readPullCredentials } from "./pull_credentials.ts";
import { parseReference, type Reference } from "./reference.ts";
import { Registry } from "./registry/registry.ts";
import { readTrust, type Trust } from "./trust.ts";

/** For all that one activity asks; within its timeout. */
const lookMs = 90_000;

export interface Subject {
  name: string;
  generation: number;
  /** As it stands there; read by `specOf`. */
  spec: unknown;
}

/** The object, unless it is gone or going. */
export function readSubject(kube: Kube, name: string): Promise<Subject | undefined> {
  return attempting(`read OSImage "${name}"`, async () => {
    const found = await ifFound(readClusterObject(kube, osImages, name));
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) return undefined;
    return { name, generation: found.metadata.generation ?? 0, spec: found.spec };
  });
}

/** What is asked for, in parts that were checked. */
export interface Asked {
  spec: OSImageSpec;
  reference: Reference;
  trust: Trust;
}

/** What is asked for; throws Unfit, with the fields that are wrong. */
export function specOf({ spec }: Subject): Asked {
  const { data, error } = OSImageSpec.safeParse(spec);
  if (data === undefined) {
    const faults = error.issues.slice(0, 3).map(({ path, message }) => `${["spec", ...path].join(".")}: ${message}`);
    throw new Unfit("SpecInvalid", faults.join("; "));
  }
  const reference = parseReference(data.reference);
  if (reference) return { spec: data, reference, trust: readTrust(data) };
  const needs = 'a registry such as "quay.io", a path, and a tag or a digest';
  throw new Unfit("SpecInvalid", `spec.reference "${data.reference}" does not name ${needs}`);
}

/** Has `work` ask the repository of a reference; a registry that does not answer is an ApplicationFailure then. */
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
