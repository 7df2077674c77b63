/**
 * Clients request a node certificate with a bootstrap token; the controller must approve only the request of a machine
 * that awaits its node.
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { KubeConfig, type V1CertificateSigningRequest } from "@kubernetes/client-node";
import { readBootstrapKubeconfig, requestNodeCertificate } from "../../deploy/local/cloud/boot/certificate.ts";
import { connectWith } from "../../deploy/local/cloud/kube.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { machineDeployment, poolPath, poolsPath, secretPath } from "./pool_objects.ts";
import type { World } from "./world.ts";

const machinesPath = "/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines";
const requestsPath = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const hold = "machine-controller.kubermatic.io/initializers";
const group = "system:bootstrappers:machine-controller:default-node-token";

interface MachineSeen {
  metadata: { name: string; finalizers?: string[] };
  status?: { nodeRef?: { name: string } };
}

/**
 * Expects the controller to approve one certificate request for the machine that has no node yet, and no other request.
 * Needs a pool "pool" that has converged with 2 machines; adds a third machine that never requests a certificate
 * itself.
 */
export async function proveApproval(world: World): Promise<void> {
  await proveApproved(world);
  const awaited = await awaitedMachine(world);
  const [joined = ""] = await joinedNodes(world);
  const own = await tokenOf(world, "pool");
  await world.create(poolsPath(), machineDeployment({ name: "other", replicas: 0 }));
  const foreign = await world.until("a foreign token", () => tokenOf(world, "other").catch(() => undefined));
  await setHold(world, awaited, "a person");
  const held = await ask(own, awaited);
  const strange = await strangerToken(world, own);
  const left: [string, RegExp][] = [
    [held, /is held/],
    [await ask(foreign, awaited), /belongs to another pool/],
    [await ask(own, joined), /has a node/],
    [await ask(own, "control-plane-1"), /no machine of Ostler is named "control-plane-1"/],
    [await ask(strange, "control-plane-2"), /no machine of Ostler is named "control-plane-2"/],
  ];
  for (const [name, why] of left) match(await reasonFor(world, name), why);
  for (const [name] of left) deepEqual((await requestOf(world, name)).status, {}, name);

  await setHold(world, awaited, null);
  await isSigned(world, held);
  const late = [await ask(own, awaited), await ask(strange, awaited)];
  for (const name of late) {
    match(await reasonFor(world, name), new RegExp(`request "${held}" was approved for node "${awaited}"`));
  }
  for (const name of [...left.slice(1).map(([name]) => name), ...late]) {
    deepEqual((await requestOf(world, name)).status, {}, name);
  }
}

/** Expects that the controller has approved all existing certificate requests. */
export async function proveApproved(world: World): Promise<void> {
  const requests = await world.list<V1CertificateSigningRequest>(requestsPath);
  const reasons = requests.map(({ status }) => status?.conditions?.[0]?.reason);
  deepEqual([...new Set(reasons)], ["MachineAwaitsNode"]);
}

async function awaitedMachine(world: World): Promise<string> {
  world.site.cloud.script({ faults: [{ kind: "no-join", when: () => true }] });
  await world.patch(poolPath("pool"), { spec: { replicas: 3 } });
  return await world.until("one more machine", async () => {
    const found = (await world.list<MachineSeen>(machinesPath)).find(({ metadata, status }) =>
      !status?.nodeRef && metadata.finalizers?.includes("machine-delete-finalizer")
    );
    return found?.metadata.name;
  });
}

async function joinedNodes(world: World): Promise<string[]> {
  const found = await world.list<MachineSeen>(machinesPath);
  return found.flatMap(({ status }) => status?.nodeRef?.name ?? []);
}

async function setHold(world: World, machine: string, value: string | null): Promise<void> {
  await world.patch(`${machinesPath}/${machine}`, { metadata: { annotations: { [hold]: value } } });
}

async function tokenOf(world: World, pool: string): Promise<KubeConfig> {
  const path = secretPath(`kube-system-${pool}-kubelet-bootstrap-config`);
  const secret = await world.get<{ data: { kubeconfig: string } }>(path);
  return readBootstrapKubeconfig(Buffer.from(secret?.data.kubeconfig ?? "", "base64").toString());
}

/** Creates a bootstrap token that names no pool, like tokens of earlier versions and of other tools. */
async function strangerToken(world: World, like: KubeConfig): Promise<KubeConfig> {
  const [id, secret] = ["strang", "0123456789abcdef"];
  await world.create("/api/v1/namespaces/kube-system/secrets", {
    metadata: { name: `bootstrap-token-${id}` },
    type: "bootstrap.kubernetes.io/token",
    stringData: {
      ...{ "token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true" },
      "auth-extra-groups": group,
    },
  });
  const config = new KubeConfig();
  const cluster = like.getCurrentCluster();
  if (!cluster) throw new Error("Failed to make a token's kubeconfig: it has no cluster");
  config.loadFromClusterAndUser(cluster, { name: "stranger", token: `${id}.${secret}` });
  return config;
}

/** Requests a certificate for the node, and returns the name of the CertificateSigningRequest. */
async function ask(bootstrap: KubeConfig, node: string): Promise<string> {
  // Opens a connection of its own, because a connection keeps the credentials with which it was opened.
  const connection = connectWith(bootstrap.exportConfig());
  try {
    const { request } = await requestNodeCertificate(node);
    const created = await connection.certificates.createCertificateSigningRequest({
      body: {
        metadata: { generateName: "asked-" },
        spec: {
          request: Buffer.from(request).toString("base64"),
          signerName: "kubernetes.io/kube-apiserver-client-kubelet",
          usages: ["digital signature", "client auth"],
        },
      },
    });
    return created.metadata?.name ?? "";
  } finally {
    await connection.close();
  }
}

async function requestOf(world: World, name: string): Promise<V1CertificateSigningRequest> {
  return await world.get<V1CertificateSigningRequest>(`${requestsPath}/${name}`) ?? { spec: {} as never };
}

/** Waits for the controller's log line about a skipped request, and returns the reason in it. */
async function reasonFor(world: World, name: string): Promise<string> {
  const log = join(world.site.stack.directory, "logs", "controller.log");
  return await world.until(`a log line about "${name}"`, async () => {
    const lines = (await readFile(log, "utf8")).split("\n").filter((line) => line.includes(`\\"${name}\\"`));
    equal(lines.length <= 1, true, "Expected one line");
    return lines[0] && (JSON.parse(lines[0]) as { message: string }).message;
  }, 20);
}

async function isSigned(world: World, name: string): Promise<void> {
  await world.until(`"${name}" signed`, async () => (await requestOf(world, name)).status?.certificate, 20);
}
