/** An API server in memory with everything that publishing the config of `pool` needs. */
import { Buffer } from "node:buffer";
import type { Publisher } from "../../activities/config/publish_config.ts";
import { defaultNodeSettings, defaultProfiles, type NodeSettings } from "../../profiles/mod.ts";
import { FakeKube } from "./fake_kube.ts";
import { clusterInfo, putPool } from "./machine_objects.ts";
import type { DeploymentOverrides } from "./machine_objects.ts";

/** A text in a secret that must never be visible outside of it. */
export const canary = "canary-token-5f3a";

/** The seed of random functions in templates, which must never be visible outside of its secret either. */
export const seed = "seed-5f3a-0123456789abcdef0123456789abcdef";

/** Returns an API server with a pool, the default profiles and cluster-info; a requested token expires in an hour. */
export async function publishingKube(overrides: DeploymentOverrides = {}): Promise<FakeKube> {
  const kube = new FakeKube();
  putPool(kube, overrides);
  for (const profile of await defaultProfiles()) {
    const metadata = { ...profile.metadata, namespace: "kube-system" };
    kube.put("operatingsystemprofiles", { ...profile, metadata });
  }
  kube.put("configmaps", clusterInfo());
  putSeed(kube);
  kube.token = { token: accountToken(canary), expirationTimestamp: new Date(Date.now() + 3_600_000) };
  return kube;
}

/** A token as the API server makes it for the identity of the pool's machines, with `mark` as its signature. */
export function accountToken(mark: string, account = "cloud-init-settings:ostler-pool-fleet"): string {
  const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const claims = {
    sub: `system:serviceaccount:${account}`,
    "kubernetes.io": { serviceaccount: { uid: `uid-of-${account.split(":")[1]}` } },
  };
  return `${encoded({ alg: "RS256" })}.${encoded(claims)}.${mark}`;
}

/** Puts the seed in place, as an earlier render leaves it. */
export function putSeed(kube: FakeKube, text = seed): void {
  const metadata = { namespace: "kube-system", name: "ostler-seed" };
  kube.put("secrets", { metadata, type: "Opaque", immutable: true, stringData: { seed: text } });
}

/** Replaces the pool's profile: one file for each phase with a given template. */
export function putProfile(
  kube: FakeKube,
  { name = "osp-ubuntu", version = "v1.0.0", templating = "eta", bootstrap, provisioning, ...more }: {
    name?: string;
    version?: string;
    templating?: "eta" | "go";
    bootstrap?: string;
    provisioning?: string;
    osName?: string;
    providers?: string[];
    extends?: { name: string };
  },
): void {
  const { osName = "ubuntu", providers = ["kubevirt"], ...rest } = more;
  const phase = (path: string, data: string | undefined): object =>
    data === undefined ? {} : { files: [{ path, content: { inline: { data } } }] };
  const spec = {
    ...{ osName, osVersion: "1", version, templating, provisioningUtility: "cloud-init" },
    supportedCloudProviders: providers.map((provider) => ({ name: provider })),
    ...{ bootstrapConfig: phase("/b", bootstrap), provisioningConfig: phase("/p", provisioning), ...rest },
  };
  const generation = Number(kube.get("operatingsystemprofiles", name, "kube-system")?.metadata.generation ?? 0) + 1;
  kube.put("operatingsystemprofiles", { metadata: { namespace: "kube-system", name, generation }, spec });
}

/** Makes the credentials in one of the pool's secrets due for renewal; they expire `days` earlier. */
export function makeDue(kube: FakeKube, name: string, days = 0): void {
  const secret = kube.get("secrets", name, "cloud-init-settings");
  if (!secret) throw new Error(`Failed to make Secret "${name}" due: it does not exist`);
  const before = secret.metadata.annotations ?? {};
  const expiry = Date.parse(before["ostler.dev/credentials-expire"] ?? "") - days * 86_400_000;
  const annotations = {
    ...before,
    "ostler.dev/credentials-renew": "2020-01-01T00:00:00.000Z",
    "ostler.dev/credentials-expire": new Date(expiry).toISOString(),
  };
  kube.put("secrets", { ...secret, metadata: { ...secret.metadata, annotations } });
}

/** The inputs of the activities; credentials live an hour, and `settings` override the defaults. */
export function publisher(kube: FakeKube, settings: Partial<NodeSettings> = {}): Publisher {
  return {
    ...{ kube: kube.client, profileNamespace: "kube-system", clusterCa: () => "", environment: {} },
    ...{ settings: { ...defaultNodeSettings, ...settings }, credentialSeconds: 3600 },
  };
}

/** Returns the text under the first key of one of the pool's secrets. */
export function textOf(kube: FakeKube, name: string): string {
  const data = kube.get("secrets", name, "cloud-init-settings")?.["data"] as Record<string, string> | undefined;
  return Buffer.from(Object.values(data ?? {})[0] ?? "", "base64").toString();
}
