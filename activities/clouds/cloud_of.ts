/** The cloud whose scaling groups a process looks after; opened when the first group asks, as its library is large. */
import { refused } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import type { Driver } from "./driver.ts";

type Open = () => Promise<Driver>;

const clouds = new WeakMap<object, { open: Open; driver?: Promise<Driver>; lookEvery?: number | undefined }>();

const usualMs = 5_000;

/** Says how the cloud of a cluster is opened. */
export function useCloud(kube: Kube, open: Open): void {
  clouds.set(kube.core, { open });
}

/** Its driver. Refused where the process was told of none; one that could not be opened is tried again by the next who asks. */
export async function cloudOf(kube: Kube): Promise<Driver> {
  const cloud = clouds.get(kube.core);
  if (!cloud) throw refused("CloudRefused", "Cannot look at scaling groups: no cloud is set (--cloud)");
  cloud.driver ??= cloud.open();
  try {
    const driver = await cloud.driver;
    cloud.lookEvery = driver.lookEvery;
    return driver;
  } catch (error) {
    delete cloud.driver;
    throw error;
  }
}

/** Milliseconds between looks at it while somebody waits. */
export function lookEveryOf(kube: Kube): number {
  return clouds.get(kube.core)?.lookEvery ?? usualMs;
}
