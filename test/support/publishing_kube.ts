/** An API server in memory with everything that publishing the config of `pool` needs. */
import { Buffer } from "node:buffer";
import type { Publisher } from "../../activities/config/publish_config.ts";
import { defaultProfiles } from "../../profiles/mod.ts";
import { FakeKube } from "./fake_kube.ts";
import { clusterInfo, putPool } from "./machine_objects.ts";
import type { DeploymentOverrides } from "./machine_objects.ts";

/** What must never be seen outside a secret. */
export const canary = "canary-token-5f3a";

const settings: Publisher["settings"] = {
  ...{ clusterDns: ["10.10.10.10"], clusterDomain: "cluster.local", externalCloudProvider: false, initialTaints: "" },
  ...{ httpProxy: "", noProxy: "", pauseImage: "", binariesUrl: "" },
};

/** A pool with its profile and the cluster's announcement; tokens live an hour. */
export async function publishingKube(overrides: DeploymentOverrides = {}): Promise<FakeKube> {
  const kube = new FakeKube();
  putPool(kube, overrides);
  for (const profile of await defaultProfiles()) {
    const metadata = { ...profile.metadata, namespace: "kube-system" };
    kube.put("operatingsystemprofiles", { ...profile, metadata });
  }
  kube.put("configmaps", clusterInfo());
  kube.token = { token: canary, expirationTimestamp: new Date(Date.now() + 3_600_000) };
  return kube;
}

export function publisher(kube: FakeKube): Publisher {
  return { kube: kube.client, profileNamespace: "kube-system", settings, credentialSeconds: 3600 };
}

/** The text under the first key of one of the pool's secrets. */
export function textOf(kube: FakeKube, name: string): string {
  const data = kube.get("secrets", name, "cloud-init-settings")?.["data"] as Record<string, string> | undefined;
  return Buffer.from(Object.values(data ?? {})[0] ?? "", "base64").toString();
}
