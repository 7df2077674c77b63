/** What can be known of the machines of groups beside what Ostler writes: certificates, and what those that boot say of themselves. */
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import type { GroupCloud } from "../../cloud/groups/group_cloud.ts";
import type { Version } from "../../cloud/groups/group_ground.ts";
import type { ContainerHost } from "../../machines/container_host.ts";
import { systemName } from "../../machines/os_image.ts";
import { kubelets } from "../groups_ground.ts";
import type { Play } from "./story.ts";

interface SigningRequest {
  spec: { signerName: string; username: string };
  status?: { certificate?: string };
}

interface Node {
  metadata: { name: string };
  spec: { providerID?: string };
  status: { nodeInfo: { osImage: string; kubeletVersion: string } };
}

const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const signer = "kubernetes.io/kube-apiserver-client-kubelet";

/** Each of these nodes was issued a certificate in its own name, which was asked for with a ticket that nobody else used. */
export async function checkCertificates({ cluster, checks }: Play, nodes: readonly string[]): Promise<void> {
  const issued = (await cluster.list<SigningRequest>(requests)).flatMap(({ spec, status }) => {
    if (spec.signerName !== signer || !status?.certificate) return [];
    const { subject } = new X509Certificate(Buffer.from(status.certificate, "base64"));
    return [{ node: subject.split("CN=system:node:").at(-1), ticket: spec.username }];
  });
  const isOwn = (node: string): boolean => {
    const own = issued.filter((each) => each.node === node).map(({ ticket }) => ticket);
    return own.some((ticket) => {
      return ticket.startsWith("system:bootstrap:") &&
        issued.every((each) => each.ticket !== ticket || each.node === node);
    });
  };
  checks.equal("nodes without a certificate of their own, got with a ticket of their own", {
    seen: nodes.filter((node) => !isOwn(node)),
    wanted: [],
  });
}

/** Where machines really boot, they say themselves what they run, and the engine has those of living instances alone. */
export async function checkBooted({ cluster, checks, ground }: Play, { image, components }: Version): Promise<void> {
  const { host, groups } = ground;
  if (host === undefined || groups === undefined) return;
  const nodes = (await cluster.list<Node>("/api/v1/nodes")).filter(({ spec }) => spec.providerID?.startsWith("sim:"));
  const said = nodes.map(({ status: { nodeInfo } }) => `${nodeInfo.osImage}, kubelet ${nodeInfo.kubeletVersion}`);
  checks.equal(`with ${image} and ${components} ${nodes.length} machines say that they run`, {
    seen: [...new Set(said)],
    wanted: [`${systemName(image)}, kubelet v${kubelets[components]}`],
  });
  const seen = await cluster.settled("the containers", { look: () => strays(host, groups.cloud), wanted: [] });
  checks.equal("containers without a living instance, and instances without a container", { seen, wanted: [] });
}

async function strays(host: ContainerHost, cloud: GroupCloud): Promise<string[]> {
  const instances = cloud.instances();
  const made = new Set(instances.map(({ node }) => node));
  const living = new Set(instances.filter(({ state }) => !state.startsWith("Terminat")).map(({ node }) => node));
  const booted = new Set((await host.machineNames()).filter((name) => made.has(name)));
  return [...living.symmetricDifference(booted)];
}
