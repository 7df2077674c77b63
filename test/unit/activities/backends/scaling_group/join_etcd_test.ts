/** K27: a new control plane has joined when its etcd member votes, not when its kubelet is Ready. */
import { deepEqual, equal } from "node:assert/strict";
import { useEtcd } from "../../../../support/staged_cluster.ts";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import { StagedEtcd } from "../../../../support/staged_etcd.ts";
import { GroupInMemory, next, pool, version } from "../../../../support/group_in_memory.ts";

const image = { ...next, components: version.components };
const machine = "workers-new-1";

interface Newcomer {
  group: GroupInMemory;
  etcd: StagedEtcd;
  address: string;
  node: string;
}

/** Returns a new control plane that was ordered to replace the first of three, with a Ready node. */
async function newcomer(): Promise<Newcomer> {
  const group = new GroupInMemory({ role: "ControlPlane" });
  const etcd = new StagedEtcd();
  useEtcd(group.client, () => etcd);
  group.cloud.instances().forEach(({ addresses: [at = ""] }, nth) => etcd.join(`m${nth + 1}`, at));
  group.ask(image, { stage: "ControlPlane", digest: hashOf(image) });
  await group.backend.orders.admit({ pool, machine, victim: "workers-1" });
  const instance = group.cloud.instances().at(-1);
  if (!instance) throw new Error("Failed to set up the group: nothing was ordered");
  group.join(instance.providerId, image);
  return { group, etcd, address: instance.addresses[0] ?? "", node: instance.node };
}

function isWelcome({ group, node }: Newcomer): boolean {
  return group.kube.get("nodes", node)?.metadata.annotations?.["ostler.dev/heir-of"] === "workers-1";
}

Deno.test("K27 welcome: a node that is not an etcd member yet has not joined", async () => {
  const all = await newcomer();
  equal(await all.group.backend.welcome({ pool, machine }), "the node is not a member of etcd yet");
  equal(isWelcome(all), false);
});

Deno.test("K27 welcome: promotes a learner that is in sync, and waits while a learner is not in sync", async () => {
  const all = await newcomer();
  const { etcd, group, address } = all;
  etcd.join("m4", address, { isLearner: true });
  etcd.behind.add("m4");
  const lacks = await group.backend.welcome({ pool, machine });
  equal(lacks, "the etcd member of the node is a learner that is not in sync yet");
  etcd.behind.clear();
  equal(await group.backend.welcome({ pool, machine }), "the etcd member of the node was just promoted to a voter");
  equal(await group.backend.welcome({ pool, machine }), undefined);
  deepEqual([isWelcome(all), etcd.orders], [true, ["promote m4", "promote m4"]]);
});

Deno.test("K27 welcome: a voter that does not respond has not joined", async () => {
  const { etcd, group, address } = await newcomer();
  etcd.join("m4", address);
  etcd.silent("m4");
  equal(await group.backend.welcome({ pool, machine }), 'member "m4" does not respond: timeout');
});

Deno.test("welcome: requires no member when etcd runs on none of the machines", async () => {
  const { etcd, group } = await newcomer();
  etcd.members.length = 0;
  etcd.join("outside", "192.0.2.9");
  equal(await group.backend.welcome({ pool, machine }), undefined);
});
