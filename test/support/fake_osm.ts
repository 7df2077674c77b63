/**
 * Imitates Operating System Manager (1.11) on any API server: reads and writes the same objects in the same order, and
 * fails in the same cases. A test supplies the rendered output.
 */
import { Buffer } from "node:buffer";
import { annotationsHash, namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { Kube } from "../../activities/kube/client.ts";
import { asMergePatch } from "../../activities/kube/client.ts";
import {
  configs,
  createObject,
  deleteObject,
  machineDeployments,
  patchObject,
  profiles,
} from "../../activities/kube/resources.ts";
import { ifFound } from "../../activities/kube/status.ts";
import { listEach } from "../../activities/handover/listing.ts";

const finalizer = "kubermatic.io/cleanup-operating-system-configs";
const tokenLabel = "machinedeployment.k8s.io/name";
const tokens = "kube-system";

/** Returns the rendered output for a pool, from the tokens of the cluster. */
export type Render = (
  pool: Pool,
  tokens: { getter: string; join: string },
) => { bootstrap: string; provisioning: string };

export interface Pool {
  metadata: { namespace: string; name: string; annotations?: Record<string, string>; finalizers?: string[] };
  spec: { replicas?: number; template: unknown };
}

/** A default profile of Operating System Manager. */
export interface DefaultProfile {
  name: string;
  spec: { version: string } & Record<string, unknown>;
}

export class FakeOsm {
  /** The error messages of MachineDeployments that it failed to reconcile, by the MachineDeployment's name. */
  readonly errors: Record<string, string> = {};

  constructor(
    private readonly kube: Kube,
    private readonly render: Render,
    private readonly defaults: DefaultProfile[] = [],
  ) {}

  /** Starts: installs its profiles, and reconciles each MachineDeployment once. */
  async look(): Promise<void> {
    for (const profile of this.defaults) await this.#install(profile);
    for (const key of Object.keys(this.errors)) delete this.errors[key];
    for (const pool of await listEach(this.kube, machineDeployments, (object) => object as Pool)) {
      // The annotation of the profile is required: Operating System Manager skips MachineDeployments without it.
      if (!pool.metadata.annotations?.["k8c.io/operating-system-profile"]) continue;
      await this.#reconcile(pool).catch((error: Error) => void (this.errors[pool.metadata.name] = error.message));
    }
  }

  async #install({ name, spec }: DefaultProfile): Promise<void> {
    const where = { namespace: "kube-system", name };
    const found = await this.#profile(where);
    if (found?.spec.version === spec.version) return;
    if (found) await deleteObject(this.kube, profiles, where);
    const apiVersion = `${profiles.group}/${profiles.version}`;
    await createObject(this.kube, profiles, { apiVersion, kind: "OperatingSystemProfile", metadata: where, spec });
  }

  async #profile(where: { namespace: string; name: string }): Promise<{ spec: { version: string } } | undefined> {
    const { group, version, plural } = profiles;
    const found: unknown = await ifFound(
      this.kube.custom.getNamespacedCustomObject({ group, version, plural, ...where }),
    );
    return found as { spec: { version: string } } | undefined;
  }

  async #reconcile(pool: Pool): Promise<void> {
    const { namespace, name, annotations = {}, finalizers = [] } = pool.metadata;
    if (!finalizers.includes(finalizer)) {
      const body = { metadata: { finalizers: [...finalizers, finalizer] } };
      await patchObject(this.kube, machineDeployments, { namespace, name, body });
    }
    const profileName = annotations["k8c.io/operating-system-profile"] ?? "";
    const profile = await this.#profile({
      namespace: annotations["k8c.io/operating-system-profile-namespace"] || "kube-system",
      name: profileName,
    });
    if (!profile) throw new Error(`OperatingSystemProfile "${profileName}" not found`);
    const stamp = {
      "k8c.io/machine-deployment-revision": annotations["machinedeployment.clusters.k8s.io/revision"] ?? "",
      "k8c.io/mdannotations-hash": annotationsHash(annotations),
      "k8c.io/osp-version": profile.spec.version,
    };
    await this.#rotate(pool, stamp);
    const join = await this.#kubeconfig(pool);
    await this.#outputs(pool, { stamp, join });
  }

  async #config(pool: Pool): Promise<{ metadata: { annotations?: Record<string, string> } } | undefined> {
    const { group, version, plural } = configs;
    const where = { namespace: "kube-system", name: namesOf(pool.metadata).config };
    const found: unknown = await ifFound(
      this.kube.custom.getNamespacedCustomObject({ group, version, plural, ...where }),
    );
    return found as { metadata: { annotations?: Record<string, string> } } | undefined;
  }

  async #rotate(pool: Pool, stamp: Record<string, string>): Promise<void> {
    const config = await this.#config(pool);
    const standing = config?.metadata.annotations ?? {};
    if (!config || Object.entries(stamp).every(([key, value]) => standing[key] === value)) return;
    const { config: name, provisioning, bootstrap, kubeletBootstrap } = namesOf(pool.metadata);
    await deleteObject(this.kube, configs, { namespace: "kube-system", name });
    for (const secret of [provisioning, bootstrap, kubeletBootstrap]) {
      await ifFound(this.kube.core.deleteNamespacedSecret({ namespace: secretsNamespace, name: secret }));
    }
  }

  /** Writes the Secret with the bootstrap kubeconfig; returns the token in the kubeconfig, with which machines join. */
  async #kubeconfig(pool: Pool): Promise<string> {
    const { key, kubeletBootstrap: name } = namesOf(pool.metadata);
    const { token, isReused } = await this.#token(key);
    const existing = await ifFound(this.kube.core.readNamespacedSecret({ namespace: secretsNamespace, name }));
    const body = {
      metadata: { name, namespace: secretsNamespace },
      data: { kubeconfig: encoded(`token: ${token}\n`) },
    };
    if (!existing) await this.kube.core.createNamespacedSecret({ namespace: secretsNamespace, body });
    else if (!isReused) {
      await this.kube.core.replaceNamespacedSecret({ namespace: secretsNamespace, name, body });
    }
    return token;
  }

  async #token(key: string): Promise<{ token: string; isReused: boolean }> {
    const labelSelector = `${tokenLabel}=${key}`;
    const { items } = await this.kube.core.listNamespacedSecret({ namespace: tokens, labelSelector });
    if (items.length > 1) {
      throw new Error(
        "failed to create bootstrap token: expected to find exactly one secret for the given machine deployment",
      );
    }
    const [found] = items;
    const text = (field: string): string => Buffer.from(found?.data?.[field] ?? "", "base64").toString();
    const expiration = new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+Z$/, "Z");
    if (found) {
      if (Date.parse(text("expiration")) - Date.now() < 1_800_000) {
        const where = { namespace: tokens, name: found.metadata?.name ?? "" };
        await this.kube.core.patchNamespacedSecret({ ...where, body: { stringData: { expiration } } }, asMergePatch);
      }
      return { token: `${text("token-id")}.${text("token-secret")}`, isReused: true };
    }
    const [id, secret] = [random(6), random(16)];
    const metadata = { name: `bootstrap-token-${id}`, namespace: tokens, labels: { [tokenLabel]: key } };
    const stringData = { "token-id": id, "token-secret": secret, expiration, "usage-bootstrap-authentication": "true" };
    const body = { metadata, type: "bootstrap.kubernetes.io/token", stringData };
    await this.kube.core.createNamespacedSecret({ namespace: tokens, body });
    return { token: `${id}.${secret}`, isReused: false };
  }

  async #outputs(pool: Pool, { stamp, join }: { stamp: Record<string, string>; join: string }): Promise<void> {
    const { config: name, bootstrap, provisioning, edgeScript } = namesOf(pool.metadata);
    if (!await this.#config(pool)) {
      // Operating System Manager only ever creates the script, so it fails if the Secret exists.
      if (isEdge(pool)) {
        const metadata = { name: edgeScript, namespace: secretsNamespace };
        const body = { metadata, data: { "fetch-bootstrap-script": encoded("apt-get update -y\n") } };
        await this.kube.core.createNamespacedSecret({ namespace: secretsNamespace, body });
      }
      const metadata = { namespace: "kube-system", name, annotations: stamp };
      const spec = {
        ...{ osName: "ubuntu", osVersion: "1", cloudProvider: { name: "kubevirt" } },
        ...{ bootstrapConfig: {}, provisioningConfig: {} },
      };
      const apiVersion = `${configs.group}/${configs.version}`;
      await createObject(this.kube, configs, { apiVersion, kind: "OperatingSystemConfig", metadata, spec });
    }
    const secret = await this.kube.core.readNamespacedSecret({
      namespace: secretsNamespace,
      name: "cloud-init-getter-token",
    });
    const getter = Buffer.from(secret.data?.["token"] ?? "", "base64").toString();
    const texts = this.render(pool, { getter, join });
    for (const [each, text] of [[provisioning, texts.provisioning], [bootstrap, texts.bootstrap]] as const) {
      const where = { namespace: secretsNamespace, name: each };
      // Operating System Manager keeps an existing Secret, whatever its content.
      if (await ifFound(this.kube.core.readNamespacedSecret(where))) continue;
      const metadata = { ...where, annotations: stamp };
      const body = { metadata, type: "Opaque", immutable: true, data: { "cloud-config": encoded(text) } };
      await this.kube.core.createNamespacedSecret({ namespace: secretsNamespace, body });
    }
  }
}

function isEdge({ spec: { template } }: Pool): boolean {
  const { spec } = template as { spec?: { providerSpec?: { value?: { cloudProvider?: string } } } };
  return spec?.providerSpec?.value?.cloudProvider === "edge";
}

function encoded(text: string): string {
  return Buffer.from(text).toString("base64");
}

function random(length: number): string {
  const alphabet = "bcdfghjklmnpqrstvwxz2456789";
  return Array.from({ length }, () => alphabet[Math.floor(Math.random() * alphabet.length)]).join("");
}
