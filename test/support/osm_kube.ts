/**
 * An API server in memory with the objects of a recorded case, for which Ostler publishes as Operating System Manager
 * did.
 */
import { readFileSync } from "node:fs";
import { loadAllYaml } from "@kubernetes/client-node";
import type { Publisher } from "../../activities/config/publish_config.ts";
import { readNodeSettings } from "../../profiles/mod.ts";
import { FakeKube } from "./fake_kube.ts";
import { getterToken, type InputObject, type OsmCase } from "./osm_vectors.ts";
import { putSeed } from "./publishing_kube.ts";

const root = new URL("../golden/osm/", import.meta.url);

/** Returns an API server that has all objects of the case, and issues the recorded token for the machines. */
export function osmKube(of: OsmCase): FakeKube {
  const kube = new FakeKube();
  kube.token = { token: getterToken, expirationTimestamp: new Date(Date.now() + 3_600_000) };
  const cluster = loadAllYaml(readFileSync(new URL("cluster/objects.yaml", root), "utf8")) as InputObject[];
  for (const object of [...cluster, ...of.inputs]) {
    kube.put(`${object.kind.toLowerCase()}s`, structuredClone(object) as InputObject & Record<string, unknown>);
  }
  putSeed(kube);
  putInput(kube, of);
  return kube;
}

/** Writes profile and MachineDeployment as users do; finalizers that Ostler has added are kept. */
export function putInput(kube: FakeKube, { profile, deployment }: OsmCase): void {
  if (profile) kube.put("operatingsystemprofiles", { ...profile, metadata: { ...profile.metadata } });
  const { name, namespace } = deployment.metadata;
  const finalizers = kube.get("machinedeployments", name, namespace)?.metadata.finalizers;
  const metadata = { ...deployment.metadata, ...(finalizers ? { finalizers } : {}) };
  kube.put("machinedeployments", { ...deployment, metadata });
}

/** The inputs of the activities, with the flags of the case. */
export function osmPublisher(kube: FakeKube, { flags }: OsmCase): Publisher {
  const argv = Object.entries(flags).flatMap(([flag, values]) => [values].flat().map((value) => `--${flag}=${value}`));
  const { settings } = readNodeSettings({ argv }, (path) => readFileSync(new URL(path, root), "utf8"));
  return {
    ...{ kube: kube.client, profileNamespace: String(flags["namespace"]), settings },
    ...{ clusterCa: () => "", environment: {}, credentialSeconds: 3600 },
  };
}
