import { setTimeout as pause } from "node:timers/promises";
import type { GroupCloud, GroupSpec } from "../../cloud/groups/group_cloud.ts";
import { first, type GroupGround, kinds, type Version } from "../../cloud/groups/group_ground.ts";
import { GroupObserver } from "../../cloud/groups/group_observer.ts";
import { applyObjects } from "../../stack/manifests.ts";
import { kubelets, nextComponents, nextImage } from "../groups_ground.ts";
import type { Story, StoryScene } from "./story.ts";
import { Buffer } from "node:buffer";
import { X509Certificate } from "node:crypto";
import type { ContainerHost } from "../../machines/container_host.ts";
import { systemName } from "../../machines/os_image.ts";

/**
 * Machines of each group, their budget, and the number of new machines at which the worker is killed; smaller for
 * containers, because these really boot and so need memory and time.
 */
const scales = {
  simulated: { size: 6, budget: 3, killAt: 4 },
  container: { size: 2, budget: 1, killAt: 2 },
} as const;
const names = ["blue", "green"];
const prefix = "constellation.edgeless.systems";

interface Node {
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: { providerID?: string };
}

/** Rolls out the scaling groups of a cloud, beside a pool of machine-controller that does not change. */
export const scalingGroup: Story = {
  title:
    "Two scaling groups get a new image, then new components; Ostler's worker process is killed during the rollout",
  replicas: 1,
  surge: 1,
  policy: {},
  prepare,
  async tell(scene: StoryScene): Promise<void> {
    const { cluster } = scene;
    const ground = groundOf(scene);
    const { budget } = scaleOf(scene);
    using observer = new GroupObserver({ admin: cluster }, ground, { blue: budget, green: budget });
    const before = await label(scene);
    const made = ground.cloud.instances().length;
    const image = { ...first, image: nextImage };
    await ground.ask(cluster, image);
    scene.narrator.say(`  NodeVersion "constellation-version" changes to ${image.image}`);
    await killOnTheWay(scene, ground);
    await arrive(scene, image);
    const components = { ...image, components: nextComponents };
    await ground.ask(cluster, components);
    scene.narrator.say(`  NodeVersion "constellation-version" changes to ${components.components} with the same image`);
    await arrive(scene, components);
    await check(scene, { observer, before, made: ground.cloud.instances().length - made });
  },
};

async function prepare(scene: StoryScene): Promise<void> {
  const { waits, site, cluster } = scene;
  const { budget } = scaleOf(scene);
  const { adminKubeconfig } = site.stack;
  const policy = {
    ...{ apiVersion: "ostler.dev/v1alpha1", kind: "RolloutPolicy" },
    metadata: { namespace: "kube-system", name: "scaling-groups" },
    spec: { selector: { matchLabels: { kind: "scaling-group" } }, budget: { machines: budget } },
  };
  await waits.until("the policy of the scaling groups", applyObjects(adminKubeconfig, [policy]));
  await waits.until("two scaling groups", groundOf(scene).settle(cluster, groupsOf(scene)));
  const isThere = async (): Promise<boolean> => (await nodesOf(scene)).length === totalOf(scene);
  await cluster.until(`${totalOf(scene)} nodes of the scaling groups`, isThere, 600);
  await arrive(scene, first);
}

function scaleOf({ options }: StoryScene): typeof scales[keyof typeof scales] {
  return scales[options.machines];
}

function totalOf(scene: StoryScene): number {
  return names.length * scaleOf(scene).size;
}

function groupsOf(scene: StoryScene): GroupSpec[] {
  const { size } = scaleOf(scene);
  const template = { image: first.image, disk: "20G" };
  const shared = { role: "Worker", min: 1, max: size + 3, size, zones: ["a", "b", "c"], template } as const;
  return names.map((name) => {
    return { ...shared, zones: [...shared.zones], id: `projects/demo/groups/${name}`, name, autoscalerName: name };
  });
}

function groundOf({ ground }: StoryScene): GroupGround {
  if (!ground.groups) {
    throw new Error("Failed to find scaling groups: the demo has no simulated groups; use --story scaling-group");
  }
  return ground.groups;
}

async function nodesOf({ cluster }: StoryScene): Promise<Node[]> {
  return (await cluster.list<Node>("/api/v1/nodes")).filter(({ spec }) => spec.providerID?.startsWith("sim:"));
}

/** Gives each node a label `slot` with a value of its own, and returns the values, sorted. */
async function label(scene: StoryScene): Promise<string[]> {
  const nodes = await nodesOf(scene);
  for (const [nth, { metadata }] of nodes.entries()) {
    await scene.cluster.patch(`/api/v1/nodes/${metadata.name}`, { metadata: { labels: { slot: `slot-${nth}` } } });
  }
  return nodes.map((_, nth) => `slot-${nth}`).sort();
}

async function killOnTheWay(scene: StoryScene, { cloud }: GroupGround): Promise<void> {
  const { narrator, waits, site, cluster } = scene;
  const { worker } = site.ostler;
  const { killAt } = scaleOf(scene);
  const isUnderWay = (): boolean => cloud.instances().filter(({ token }) => token !== undefined).length >= killAt;
  await cluster.until(`${killAt} machines to be created by the rollout`, () => Promise.resolve(isUnderWay()));
  narrator.say(`  the worker (process ${worker.pid}) is killed with SIGKILL while machines join`);
  worker.kill("SIGKILL");
  await waits.until("the worker to exit", worker.exit);
  await waits.until("the time without a worker", pause(2_000));
  await waits.until("the worker to start again", worker.start(waits.signal));
}

/** Waits until all nodes run a version and the NodeVersion reports it. */
async function arrive(scene: StoryScene, version: Version): Promise<void> {
  const { image, components } = version;
  await scene.cluster.until(`all nodes to run ${image} and ${components}`, async () => {
    const runs = (await nodesOf(scene)).map(({ metadata: { annotations = {} } }) =>
      `${annotations[`${prefix}/node-image`]} ${annotations[`${prefix}/kubernetes-components`]}`
    );
    const isThere = runs.length === totalOf(scene) && runs.every((each) => each === `${image} ${components}`);
    return isThere && await reasonOf(scene) === "UpToDate";
  }, 600);
  scene.narrator.say(`  all ${totalOf(scene)} nodes run ${image} and ${components}`);
  await checkBooted(scene, version);
}

async function reasonOf({ cluster }: StoryScene): Promise<string | undefined> {
  const version = await cluster.get<{ status?: { conditions?: { type: string; reason: string }[] } }>(
    `${kinds}/nodeversions/constellation-version`,
  );
  return version?.status?.conditions?.find(({ type }) => type === "Ready")?.reason;
}

async function check(
  scene: StoryScene,
  { observer, before, made }: { observer: GroupObserver; before: string[]; made: number },
): Promise<void> {
  const { checks, cluster } = scene;
  const { size } = scaleOf(scene);
  checks.equal("violations seen by the observer (too many machines, or too few Ready ones)", {
    seen: observer.broken,
    wanted: [],
  });
  checks.equal("machines created, one for each replacement", { seen: made, wanted: 2 * totalOf(scene) });
  const slots = (await nodesOf(scene)).map(({ metadata }) => metadata.labels?.["slot"] ?? "none").sort();
  checks.equal("each new node has the label of the node that it replaced", { seen: slots, wanted: before });
  const sizes = groundOf(scene).cloud.groups().map(({ size }) => size);
  checks.equal("sizes of both groups, unchanged", { seen: sizes, wanted: [size, size] });
  await checkCertificates(scene, (await nodesOf(scene)).map(({ metadata }) => metadata.name));
  for (const kind of ["pendingnodes", "joiningnodes"]) {
    const seen = await cluster.settled(`the removal of all ${kind}`, {
      look: async () => (await cluster.list(`${kinds}/${kind}`)).length,
      wanted: 0,
    });
    checks.equal(`${kind} left`, { seen, wanted: 0 });
  }
}

// The checks below use sources other than Ostler: the certificates of nodes, and the versions that real machines
// report.

interface SigningRequest {
  spec: { signerName: string; username: string };
  status?: { certificate?: string };
}

interface CheckedNode {
  metadata: { name: string };
  spec: { providerID?: string };
  status: { nodeInfo: { osImage: string; kubeletVersion: string } };
}

const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const signer = "kubernetes.io/kube-apiserver-client-kubelet";

/**
 * Checks that each node has a certificate in its own name, requested with a bootstrap token that no other node used.
 */
async function checkCertificates({ cluster, checks }: StoryScene, nodes: readonly string[]): Promise<void> {
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
  checks.equal("nodes without their own certificate and bootstrap token", {
    seen: nodes.filter((node) => !isOwn(node)),
    wanted: [],
  });
}

/**
 * Checks that machines which really boot report the image and the kubelet of this version, and that each living
 * instance has a container and no other instance has one. Does nothing if the machines are simulated.
 */
async function checkBooted({ cluster, checks, ground }: StoryScene, { image, components }: Version): Promise<void> {
  const { host, groups } = ground;
  if (host === undefined || groups === undefined) return;
  const nodes = (await cluster.list<CheckedNode>("/api/v1/nodes")).filter(({ spec }) =>
    spec.providerID?.startsWith("sim:")
  );
  const said = nodes.map(({ status: { nodeInfo } }) => `${nodeInfo.osImage}, kubelet ${nodeInfo.kubeletVersion}`);
  checks.equal(`versions that ${nodes.length} machines report with ${image} and ${components}`, {
    seen: [...new Set(said)],
    wanted: [`${systemName(image)}, kubelet v${kubelets[components]}`],
  });
  const seen = await cluster.settled("one container for each living instance", {
    look: () => strays(host, groups.cloud),
    wanted: [],
  });
  checks.equal("containers without a living instance, and instances without a container", { seen, wanted: [] });
}

async function strays(host: ContainerHost, cloud: GroupCloud): Promise<string[]> {
  const instances = cloud.instances();
  const made = new Set(instances.map(({ node }) => node));
  const living = new Set(instances.filter(({ state }) => !state.startsWith("Terminat")).map(({ node }) => node));
  const booted = new Set((await host.machineNames()).filter((name) => made.has(name)));
  return [...living.symmetricDifference(booted)];
}
