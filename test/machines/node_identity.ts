/** The cluster's state of the machine and its node, and the certificates that prove the node's identity. */
import type { V1CertificateSigningRequest, V1Node } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:tls";
import { type Booted, initialTaint, nodeLabels, nodeTaint } from "./boot_pools.ts";
import { output } from "./machine_facts.ts";

interface Machine {
  metadata: { uid: string };
  status: { nodeRef?: { name: string; uid: string }; addresses: { type: string; address: string }[] };
}

/** The node of a machine. */
export async function nodeOf({ world, name }: Booted): Promise<V1Node> {
  const node = await world.get<V1Node>(`/api/v1/nodes/${name}`);
  assert.ok(node, `Node "${name}" does not exist`);
  return node;
}

/** Expects Node and Machine to refer to each other, with the machine's real addresses. */
export async function checkNode(booted: Booted): Promise<void> {
  const { world, name, machine } = booted;
  const node = await nodeOf(booted);
  const path = `/apis/cluster.k8s.io/v1alpha1/namespaces/kube-system/machines/${name}`;
  const owner = await world.until("the machine has its node", async () => {
    const seen = await world.get<Machine>(path);
    return seen?.status.nodeRef?.uid === node.metadata?.uid && seen;
  });
  const { labels, uid } = { labels: node.metadata?.labels, uid: owner?.metadata.uid };
  assert.equal(labels?.["machine-controller/owned-by"], uid);
  assert.equal(labels?.["kubernetes.io/hostname"], name);
  assert.equal(node.spec?.providerID, `kubermatic://kubevirt/${uid}`);
  assert.deepEqual(node.status?.addresses, [
    { type: "InternalIP", address: machine.address },
    { type: "Hostname", address: name },
  ]);
  const { kubeletVersion, containerRuntimeVersion, machineID } = node.status?.nodeInfo ?? {};
  assert.equal(kubeletVersion, "v1.36.1");
  assert.match(containerRuntimeVersion ?? "", /^containerd:\/\/2\./);
  assert.equal(machineID, (await output(machine, ["cat", "/etc/machine-id"])).trim());
}

/**
 * Expects the taints and labels of the node: the kubelet itself adds the cluster's initial taint, machine-controller
 * those of the pool.
 */
export async function checkTaintsAndLabels(booted: Booted, hasOwn: boolean): Promise<void> {
  const expected = hasOwn ? [initialTaint, nodeTaint] : [initialTaint];
  const node = await booted.world.until("all labels and taints", async () => {
    const seen = await nodeOf(booted);
    // Repeated until they are equal, because kube-controller-manager may add another taint for a moment.
    assert.deepEqual(seen.spec?.taints, expected);
    return seen;
  });
  const labels = Object.entries(node?.metadata?.labels ?? {}).filter(([key]) => key in nodeLabels);
  assert.deepEqual(Object.fromEntries(labels), hasOwn ? nodeLabels : {});
}

/** Expects the nodes of the machines to have different machine IDs. */
export async function checkUnique(machines: Booted[]): Promise<void> {
  const nodes = await Promise.all(machines.map(nodeOf));
  assert.equal(new Set(nodes.map(({ status }) => status?.nodeInfo?.machineID)).size, machines.length);
}

/** Returns the certificate requests of a machine's kubelet: those whose subject has the node's name. */
export async function certificateRequests({ world, name }: Booted): Promise<V1CertificateSigningRequest[]> {
  const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  const requests = await world.list<V1CertificateSigningRequest>(path);
  // The subject is plain text in the request.
  return requests.filter(({ spec }) => bytesOf(spec.request).includes(`system:node:${name}`));
}

function bytesOf(request: string): string {
  return atob(atob(request).replace(/-----[^-]+-----|\s/g, ""));
}

/**
 * Expects both certificates of the kubelet to be requested once, approved and issued; the kubelet's server uses the
 * serving certificate.
 */
export async function checkCertificates(booted: Booted): Promise<void> {
  const { world, name, machine } = booted;
  // Controllers of the cluster approve and issue certificates a moment after the request.
  const requests = await world.until("certificates to be issued", async () => {
    const seen = await certificateRequests(booted);
    return seen.length >= 2 && seen.every(({ status }) => status?.certificate) && seen;
  });
  const signers = requests.map(({ spec }) => spec.signerName).sort();
  const [client, serving] = ["kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"];
  assert.deepEqual(signers, [client, serving]);
  for (const { spec, status } of requests) {
    assert.deepEqual(status?.conditions?.map(({ type }) => type), ["Approved"], spec.signerName);
  }
  const { caPem } = world.site.stack.apiServer;
  const socket = connect({ host: machine.address, port: 10250, ca: caPem });
  try {
    await once(socket, "secureConnect");
    assert.equal(socket.authorized, true, String(socket.authorizationError));
    const { subject, subjectaltname } = socket.getPeerCertificate();
    assert.equal(subject.CN, `system:node:${name}`);
    assert.equal(subjectaltname, `DNS:${name}, IP Address:${machine.address}`);
  } finally {
    socket.destroy();
  }
}
