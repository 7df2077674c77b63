/**
 * A cluster with recorded pools of Operating System Manager, and with one pool that has a default profile, for tests of
 * `ostler adopt` and `ostler release`.
 */
import { publishConfig } from "../../activities/config/publish_config.ts";
import { renderingOf, renderPool } from "../../activities/config/render_config.ts";
import { defaultProfiles, namesOf } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Stored } from "./fake_kube.ts";
import { FakeOsm } from "./fake_osm.ts";
import { FakeWorld } from "./fake_world.ts";
import { machine, machineDeployment, machineSet, node, revisionKey } from "./machine_objects.ts";
import { osmKube, osmPublisher, putInput } from "./osm_kube.ts";
import { expectedText, type OsmCase, osmCase } from "./osm_vectors.ts";
import { accountToken } from "./publishing_kube.ts";

/**
 * Recorded cases with Go templates, which Ostler and Operating System Manager both render; the last case has two
 * revisions.
 */
export const cases = ["gen-minimal", "gen-namespaces", "rot-revision"].map(osmCase);
const plain = cases[0] as OsmCase;

/** A pool with a default profile, a profile that Ostler and Operating System Manager both install. */
export const usual: PoolRef = { namespace: "fleet", name: "pool" };

const theirs = {
  ...{ version: "v1.11.2", osName: "ubuntu", osVersion: "24.04", supportedCloudProviders: [{ name: "kubevirt" }] },
  ...{ bootstrapConfig: {}, provisioningConfig: {} },
};

export class HandoverWorld extends FakeWorld {
  readonly osm: FakeOsm;

  constructor() {
    super(osmKube(plain));
    this.time = Date.now();
    for (const each of cases) putInput(this.kube, each);
    this.kube.put("namespaces", { metadata: { name: "kube-system", uid: "uid-of-this-cluster" } });
    this.kube.put("machinedeployments", machineDeployment());
    this.kube.put("machinesets", machineSet());
    for (const name of ["a", "b"]) {
      this.kube.put("machines", machine(name));
      this.kube.put("nodes", node(`node-${name}`));
    }
    this.putGetter("getter-1");
    this.osm = new FakeOsm(this.kube.client, rendered, [{ name: "osp-ubuntu", spec: theirs }]);
  }

  /** Creates the ServiceAccount of machines, as Operating System Manager's deploy/cloud-init-settings.yaml does. */
  putGetter(mark: string): void {
    const namespace = "cloud-init-settings";
    const token = accountToken(mark, `${namespace}:cloud-init-getter`);
    for (const plural of ["serviceaccounts", "roles", "rolebindings"]) {
      this.kube.put(plural, { metadata: { namespace, name: "cloud-init-getter" } });
    }
    this.kube.put("secrets", { metadata: { namespace, name: "cloud-init-getter-token" }, stringData: { token } });
  }

  get getterToken(): string {
    return this.text("cloud-init-getter-token", "token");
  }

  get pools(): PoolRef[] {
    return [...cases.map(({ deployment: { metadata: { namespace, name } } }) => ({ namespace, name })), usual];
  }

  /** Writes what a running Ostler writes: default profiles, and the objects that it publishes for each pool. */
  async runOstler(): Promise<void> {
    for (const { metadata: { name }, spec } of await defaultProfiles()) {
      const annotations = { "ostler.dev/default-profile": spec.version };
      this.kube.put("operatingsystemprofiles", { metadata: { namespace: "kube-system", name, annotations }, spec });
    }
    for (const each of [...cases, { ...plain, deployment: { metadata: usual } }]) await this.#publish(each as OsmCase);
    this.kube.put("mutatingadmissionpolicies", { metadata: { name: "hold-new-machines.ostler.dev" } });
    this.kube.put("mutatingadmissionpolicybindings", { metadata: { name: "hold-new-machines.ostler.dev" } });
    this.kube.put("configmaps", { metadata: { namespace: "kube-system", name: "ostler-budget" } });
    this.temporal.schedules.set("renew-credentials", { cluster: { uid: "uid-of-this-cluster" } });
  }

  async #publish(of: OsmCase): Promise<void> {
    const { namespace, name } = of.deployment.metadata;
    const publisher = osmPublisher(this.kube, of);
    const token = accountToken("ours", `cloud-init-settings:${namesOf({ namespace, name }).identity}`);
    this.kube.token = { token, expirationTimestamp: new Date(Date.now() + 3_600_000) };
    const { configDigest } = renderingOf(await renderPool(publisher, { namespace, name }));
    await publishConfig(publisher, {
      pool: { namespace, name },
      revision: this.revisionOf({ namespace, name }),
      configDigest,
    });
    this.kube.put("rollouts", {
      metadata: { namespace, name },
      status: { phase: "Converged", workflowId: `machine-deployment/${namespace}/${name}` },
    });
  }

  revisionOf({ namespace, name }: PoolRef): string {
    return this.kube.get("machinedeployments", name, namespace)?.metadata.annotations?.[revisionKey] ?? "";
  }

  secret(name: string): Stored | undefined {
    return this.kube.get("secrets", name, "cloud-init-settings");
  }

  text(name: string, key = "cloud-config"): string {
    const data = this.secret(name)?.["data"] as Record<string, string> | undefined;
    return atob(data?.[key] ?? "");
  }

  /** Returns the names of the pool's token Secrets, by the label with which Operating System Manager finds them. */
  tokensOf(pool: PoolRef): string[] {
    const { key } = namesOf(pool);
    const isOf = ({ metadata }: Stored): boolean => metadata.labels?.["machinedeployment.k8s.io/name"] === key;
    return this.kube.all("secrets").filter(isOf).map(({ metadata }) => metadata.name);
  }
}

// Returns the recorded user-data of the case; for a pool that is not recorded, texts with the tokens.
function rendered(
  { metadata: { name } }: { metadata: { name: string } },
  { getter, join }: { getter: string; join: string },
): { bootstrap: string; provisioning: string } {
  const of = cases.find((each) => each.deployment.metadata.name === name);
  const [bootstrap, provisioning] = ["bootstrap", "provisioning"].map((file) => of && expectedText(of, file));
  return { bootstrap: bootstrap ?? `token ${getter}`, provisioning: provisioning ?? `join ${join}` };
}
