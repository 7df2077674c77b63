import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { useEtcd } from "../../../../support/staged_cluster.ts";
import { refused } from "../../../../../activities/failures.ts";
import { marks } from "../../../../../activities/node_version/marks.ts";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import { readDesired } from "../../../../../activities/pool/read_desired.ts";
import { readPool } from "../../../../../activities/pool/read_pool.ts";
import type { Member, SnapshotKeep } from "../../../../../workflows/contracts/mod.ts";
import { StagedEtcd } from "../../../../support/staged_etcd.ts";
import { GroupInMemory, next, pool, version } from "../../../../support/group_in_memory.ts";

/**
 * A version that differs from `version` only in its image. Only an upgrade of Kubernetes, not a replacement, changes
 * the components of control planes.
 */
const image = { ...next, components: version.components };
const role = "node-role.kubernetes.io/control-plane";

interface Plane {
  group: GroupInMemory;
  etcd: StagedEtcd;
}

/**
 * Returns three control planes with the etcd members m1 to m3, of which m1 leads; by default `image` is released to
 * them.
 */
async function controlPlane(stage = "ControlPlane", wanted = image): Promise<Plane> {
  const group = new GroupInMemory({ role: "ControlPlane" });
  const etcd = new StagedEtcd();
  useEtcd(group.client, () => etcd);
  group.cloud.instances().forEach(({ node, addresses: [address = ""] }, nth) => {
    etcd.join(`m${nth + 1}`, address, { name: node });
    Object.assign(group.kube.get("nodes", node)?.metadata ?? {}, { labels: { [role]: "" } });
  });
  group.ask(version, { stage: "ControlPlane", digest: hashOf(version) });
  await group.backend.boots?.publish({ pool, revision: "" });
  group.ask(wanted, { stage, digest: hashOf(wanted) });
  return { group, etcd };
}

function alive({ cloud }: GroupInMemory): number {
  return cloud.instances().filter(({ state }) => state === "Ready").length;
}

/** Adds a policy that stores snapshots of etcd in a folder. */
function keepSnapshots(
  { group }: Plane,
  { namespace = "kube-system", name = "snapshots", folder = "/backups" } = {},
): void {
  const spec = { selector: {}, etcd: { snapshot: { keep: "Folder", folder } } };
  group.kube.put("rolloutpolicies", { metadata: { namespace, name }, spec });
}

async function relieved({ group }: Plane, order: { isLost?: boolean; taken?: string[] } = {}): Promise<unknown> {
  return await group.backend.relieve?.({ pool, machine: "workers-1", isLost: false, taken: [], ...order });
}

Deno.test("K23 control planes: keep their target when a release is for workers only", async () => {
  const { templateHash, members } = await (await controlPlane("Workers", next)).group.backend.observe(pool);
  deepEqual([templateHash, members.filter(({ phase }) => phase === "Held")], [hashOf(version), []]);
  const released = await (await controlPlane()).group.backend.observe(pool);
  deepEqual(released.templateHash, hashOf(image));
});

Deno.test("K23 control planes: are not chosen, ordered or removed for a version with other Kubernetes components than theirs", async () => {
  const { group } = await controlPlane("ControlPlane", next);
  const refusal = { type: "ControlPlaneRefused", nonRetryable: true, message: /does not upgrade their Kubernetes/ };
  await rejects(group.backend.orders.choose({ pool, machine: "workers-1" }), refusal);
  await rejects(group.backend.orders.admit({ pool, machine: "workers-new-1", victim: "workers-1" }), refusal);
  await rejects(group.backend.orders.release({ pool, machine: "workers-1" }), refusal);
  equal(alive(group), 3);
});

Deno.test("K23 control planes: a node that an upgrade has brought to the next components is as up to date as the others of its group", async () => {
  const { group } = await controlPlane();
  await group.backend.boots?.publish({ pool, revision: "" });
  group.ask({ ...next, image: image.image }); // desired, but not released to any stage
  annotate(group, "workers-1", next.components);
  const { templateHash, members } = await group.backend.observe(pool);
  const known = members.filter(({ phase }) => phase !== "Held").map((each) => each.templateHash);
  deepEqual([templateHash, known], [hashOf(image), Array(3).fill(hashOf(version))]);
  annotate(group, "workers-1", "components-9");
  const other = (await group.backend.observe(pool)).members.find(({ id }) => id === "workers-1");
  deepEqual(other?.templateHash, hashOf({ image: version.image, components: "components-9" }));
});

Deno.test("K23, K27 control planes: a control plane that is lost while others are upgraded is replaced", async () => {
  const { group } = await controlPlane("ControlPlane", version);
  group.ask(next);
  annotate(group, "workers-1", next.components);
  await group.backend.orders.admit({ pool, machine: "workers-new-1", victim: "workers-2" });
  await group.backend.orders.release({ pool, machine: "workers-2" });
  annotate(group, "workers-1", "components-9");
  const refusal = { type: "ControlPlaneRefused", message: /node "workers-1" runs "components-9"/ };
  await rejects(group.backend.orders.admit({ pool, machine: "workers-new-2", victim: "workers-3" }), refusal);
});

/** Annotates a node with the components that it runs, as an upgrade does. */
function annotate({ kube }: GroupInMemory, node: string, components: string): void {
  const found = kube.get("nodes", node)?.metadata as { annotations?: Record<string, string> };
  found.annotations = { ...found.annotations, [marks.components]: components };
}

Deno.test("K27 control planes: a group with the role Worker is refused if its cloud or a node shows that its machines are control planes", async () => {
  const refusal = { type: "ControlPlaneRefused", message: /its role is "Worker"/ };
  const byCloud = new GroupInMemory({ role: "ControlPlane" });
  const byNode = new GroupInMemory();
  for (const group of [byCloud, byNode]) {
    const [object] = group.kube.all("scalinggroups") as unknown as { spec: { role: string } }[];
    if (object) object.spec.role = "Worker";
    group.ask(next, { stage: "Workers", digest: hashOf(next) });
  }
  const [node] = byNode.kube.all("nodes") as unknown as { metadata: { labels?: Record<string, string> } }[];
  if (node) node.metadata.labels = { [role]: "" };
  for (const { backend } of [byCloud, byNode]) {
    await rejects(backend.orders.choose({ pool, machine: "workers-1" }), refusal);
    await rejects(backend.orders.admit({ pool, machine: "workers-new-1", victim: "workers-1" }), refusal);
    await rejects(backend.orders.release({ pool, machine: "workers-1" }), refusal);
  }
});

Deno.test("control planes: have a budget of one machine, whatever a policy allows", async () => {
  const { group } = await controlPlane();
  const spec = { selector: {}, budget: { machines: 3 } };
  group.kube.put("rolloutpolicies", { metadata: { namespace: "kube-system", name: "p" }, spec });
  const seen = await readDesired({ kube: group.client, profileNamespace: "" }, pool);
  ok(seen.state === "Present" && seen.desired.isControlPlane);
  deepEqual(seen.state === "Present" && seen.rules.budget, {
    ...{ machines: 1, perZone: null, zones: "Parallel", cluster: 1 },
  });
});

Deno.test("control planes: observe returns the machine and role of each etcd member, the quorum, and which member does not respond", async () => {
  const plane = await controlPlane();
  plane.etcd.silent("m2");
  const { etcd } = await plane.group.backend.observe(pool);
  deepEqual(etcd?.seats.map(({ machine, role, isWell }) => [machine, role, isWell]), [
    ["workers-1", "Leader", true],
    ["workers-2", "Voter", false],
    ["workers-3", "Voter", true],
  ]);
  deepEqual([etcd?.quorum, etcd?.doubts], [{ needed: 2, well: 2 }, [{
    machine: "workers-2",
    says: 'member "workers-2" does not respond: timeout',
  }]]);
});

Deno.test("control planes: observe succeeds, and returns why etcd cannot be read, when Ostler has no access to etcd", async () => {
  const plane = await controlPlane();
  plane.etcd.fault = refused("EtcdAccessMissing", "Failed to reach etcd: the Secret does not exist");
  const { members, etcd } = await plane.group.backend.observe(pool);
  deepEqual([members.filter(({ phase }) => phase === "Ready").length, etcd?.doubts], [3, [{
    says: "Failed to reach etcd: the Secret does not exist",
  }]]);
});

Deno.test("relieve: moves the leadership to another member, and stores a snapshot of etcd", async () => {
  const plane = await controlPlane();
  deepEqual(await relieved(plane), { state: "Relieved", snapshot: null });
  deepEqual([plane.etcd.leader, plane.etcd.orders], ["m2", ["move m1"]]);
  const snapshot = { keep: "Folder", folder: "/backups", name: "control-1" } as const;
  keepSnapshots(plane);
  const again = await plane.group.backend.relieve?.({ pool, machine: "workers-1", isLost: false, taken: [], snapshot });
  deepEqual(again, {
    state: "Relieved",
    snapshot: { digest: "sha256:aa", bytes: 7, at: "/backups/control-1.db" },
  });
});

const forgedToken = { namespace: "kube-system", name: "cloud-credentials", key: "password" };
const forged: [what: string, snapshot: SnapshotKeep][] = [
  ["another server", { keep: "Url", url: "https://attacker.example" }],
  ["a server without TLS", { keep: "Url", url: "http://attacker.example" }],
  ["a Secret of kube-system as token", { keep: "Url", url: "https://attacker.example", token: forgedToken }],
  ["another folder", { keep: "Folder", folder: "/tmp" }],
];

for (const [what, place] of forged) {
  Deno.test(`fault S3 relieve: an order that names ${what} stores the snapshot only at the place in the RolloutPolicy, and stores none without a policy`, async () => {
    const plane = await controlPlane();
    const order = { pool, machine: "workers-1", isLost: false, taken: [], snapshot: { ...place, name: "control-1" } };
    const refusal = { type: "GenerationStale", nonRetryable: true, message: /no RolloutPolicy sets etcd.snapshot/ };
    await rejects(async () => await plane.group.backend.relieve?.(order), refusal);
    // The namespace of a forged pool may have a policy of the attacker.
    keepSnapshots(plane, { namespace: "tenant", folder: "/tenant" });
    const there = { ...order, pool: { ...pool, namespace: "tenant" } };
    await rejects(async () => await plane.group.backend.relieve?.(there), refusal);
    deepEqual([plane.etcd.places, plane.etcd.orders], [[], []]);
    keepSnapshots(plane);
    for (const each of [order, there]) await plane.group.backend.relieve?.(each);
    deepEqual(plane.etcd.places, Array(2).fill({ keep: "Folder", folder: "/backups" }));
  });
}

Deno.test("relieve: keeps the machine while policies conflict, as the run then repeats its order, unless a person accepts that no snapshot is stored", async () => {
  const plane = await controlPlane();
  for (const name of ["snapshots", "others"]) keepSnapshots(plane, { name });
  const snapshot = { keep: "Folder", folder: "/backups", name: "control-1" } as const;
  const order = { pool, machine: "workers-1", isLost: true, snapshot };
  const seen = await plane.group.backend.relieve?.({ ...order, taken: [] });
  const doubts = seen?.state === "InDoubt" ? seen.doubts : [];
  match(doubts.join("; "), /where to store a snapshot of etcd: RolloutPolicies "others" and "snapshots" select/);
  const accepted = await plane.group.backend.relieve?.({ ...order, taken: doubts });
  deepEqual([accepted, plane.etcd.orders], [{ state: "Relieved", snapshot: null }, []]);
});

Deno.test("K27 relieve: refuses while etcd is inconclusive, and does not move the leadership", async () => {
  const plane = await controlPlane();
  plane.etcd.silent("m3");
  const seen = await relieved(plane) as { state: string; doubts: string[] };
  equal(seen.state, "InDoubt");
  match(seen.doubts.join("; "), /without member "workers-1", 1 of 3 voters are healthy.*"workers-3" does not respond/);
  deepEqual(plane.etcd.orders, []);
});

Deno.test("relieve: accepts a lost machine whose own member does not respond; if the member of another machine does not respond, refuses until a person accepts that", async () => {
  const plane = await controlPlane();
  plane.etcd.silent("m1");
  plane.etcd.leader = "m2";
  for (const { status } of plane.etcd.members) if (status) status.leader = "m2";
  deepEqual(await relieved(plane, { isLost: true }), { state: "Relieved", snapshot: null });
  plane.etcd.silent("m3");
  const seen = await relieved(plane, { isLost: true }) as { doubts: string[] };
  deepEqual(seen.doubts, ['member "workers-3" does not respond: timeout']);
  deepEqual(await relieved(plane, { isLost: true, taken: seen.doubts }), { state: "Relieved", snapshot: null });
});

Deno.test("release: removes the member from etcd before it calls the cloud", async () => {
  const { group, etcd } = await controlPlane();
  const atRemoval: (string[] | undefined)[] = [];
  const remove = group.cloud.remove.bind(group.cloud);
  group.cloud.remove = (providerId, shrinks) => {
    atRemoval.push(etcd.members.map(({ id }) => id));
    remove(providerId, shrinks);
  };
  await group.backend.orders.release({ pool, machine: "workers-1" });
  deepEqual([atRemoval, etcd.orders], [[["m2", "m3"]], ["move m1", "remove m1"]]);
});

Deno.test("K27 release: keeps the machine when etcd refuses to remove its member", async () => {
  const { group, etcd } = await controlPlane();
  etcd.removeMember = () => Promise.reject(new Error("1 of the 2 voters that remain are healthy"));
  await rejects(group.backend.orders.release({ pool, machine: "workers-1" }));
  await rejects(group.backend.orders.replace({ pool, machine: "workers-1" }));
  equal(alive(group), 3);
});

const unseen: [what: string, befall: (plane: Plane) => void, told: RegExp][] = [
  ["two members have its address", ({ group, etcd }) => {
    etcd.join("m4", group.cloud.instances()[0]?.addresses[0] ?? "", { name: "another" });
  }, /several etcd members have the machine's address/],
  ["etcd does not respond", ({ etcd }) => {
    etcd.members.length = 0;
    etcd.silence = "no response";
  }, /no response/],
  ["etcd reports no members", ({ etcd }) => void (etcd.members.length = 0), /etcd reports no members/],
  ["its member has another address and another name", ({ etcd: { members: [first] } }) => {
    if (first) Object.assign(first, { name: "other", peerUrls: ["https://198.51.100.1:2380"] });
  }, /etcd member "other" does not match any machine/],
];

for (const [what, befall, told] of unseen) {
  Deno.test(`K27 release: keeps a machine whose member is unknown: ${what}`, async () => {
    const plane = await controlPlane();
    befall(plane);
    const { group, etcd } = plane;
    await rejects(group.backend.orders.release({ pool, machine: "workers-1" }), told);
    await rejects(group.backend.orders.replace({ pool, machine: "workers-1" }), told);
    const { state, doubts } = await relieved(plane, { isLost: true }) as { state: string; doubts: string[] };
    equal(state, "InDoubt");
    match(doubts.join("; "), told);
    deepEqual([etcd.orders, alive(group)], [[], 3]);
  });
}

Deno.test("release: deletes a machine whose etcd member was removed before, as when an earlier attempt died after that", async () => {
  const { group, etcd } = await controlPlane();
  etcd.members.shift();
  etcd.leader = "m2";
  await group.backend.orders.release({ pool, machine: "workers-1" });
  deepEqual([etcd.orders, alive(group)], [[], 2]);
});

Deno.test("release: changes nothing in etcd when no etcd member runs on the machines of the group", async () => {
  const plane = await controlPlane();
  plane.etcd.members.length = 0;
  plane.etcd.join("outside", "198.51.100.9");
  deepEqual(await relieved(plane), { state: "Relieved", snapshot: null });
  await plane.group.backend.orders.release({ pool, machine: "workers-1" });
  deepEqual([plane.etcd.orders, alive(plane.group)], [[], 2]);
});

Deno.test("relieve: refuses the machine of the last voter, even if a person has accepted every reported problem of etcd", async () => {
  const plane = await controlPlane();
  plane.etcd.members.splice(1);
  const { doubts } = await relieved(plane) as { doubts: string[] };
  deepEqual([(await relieved(plane, { taken: doubts }) as { state: string }).state], ["InDoubt"]);
});

const repair = { enabled: true, notReadyFor: 0, conditions: [], maxUnhealthy: 100 };

/**
 * Returns control planes of which "workers-1" is not Ready, and an upgrade of Kubernetes has the slot for machine `key`
 * until `until`.
 */
async function upgraded(until: number, { key = "workers-1" } = {}): Promise<Plane> {
  const plane = await controlPlane();
  const { kube } = plane.group;
  const data = { [`kube-system_upgrade-kubernetes.v_${key}`]: new Date(until).toISOString() };
  kube.put("configmaps", { metadata: { namespace: "kube-system", name: "ostler-control-planes" }, data });
  const node = kube.get("nodes", "workers-1");
  const since = "2026-01-01T00:00:00Z";
  Object.assign(node?.["status"] ?? {}, {
    conditions: [{ type: "Ready", status: "False", lastTransitionTime: since }],
  });
  return plane;
}

function readOne({ group }: Plane): Promise<Member | undefined> {
  const question = { pool, templateHash: hashOf(image), unproven: [], repair, limit: 9 };
  return readPool(group.client, question, { profileNamespace: "kube-system" }).then(({ ill }) =>
    ill.find(({ id }) => id === "workers-1")
  );
}

Deno.test("K23 control planes: a machine is neither replaced nor repaired while an upgrade of its Kubernetes has a slot for it, until that slot ends", async () => {
  const until = Date.now() + 3_600_000;
  const member = await readOne(await upgraded(until));
  deepEqual([member?.kept, member?.ill?.due], ["Upgrading", until]);
  const late = await readOne(await upgraded(Date.now() - 1));
  deepEqual([late?.kept, (late?.ill?.due ?? Infinity) < until], [undefined, true]);
});

Deno.test("K23 control planes: neither a cordon, nor the upgrade slot of another machine, nor a slot that ends in a year prevents the repair of a machine", async () => {
  const until = Date.now() + 3_600_000;
  const other = await upgraded(until, { key: "workers-2" });
  const { metadata } = other.group.kube.get("nodes", "workers-1") ?? {};
  const mark = "scaling-group/kube-system/upgrade-kubernetes.v";
  Object.assign(metadata ?? {}, { annotations: { ...metadata?.annotations, "ostler.dev/cordoned-by": mark } });
  for (const plane of [other, await upgraded(until + 365 * 24 * 3_600_000)]) {
    equal((await readOne(plane))?.kept, undefined);
  }
});

Deno.test("K27 relieve: accepts the last voter if its machine will return; the member stays leader, and the snapshot is of its own data", async () => {
  const plane = await controlPlane();
  for (const member of ["m2", "m3"]) await plane.etcd.removeMember(member);
  for (const { providerId } of plane.group.cloud.instances().slice(1)) plane.group.cloud.remove(providerId, true);
  plane.etcd.orders.length = 0;
  const { relieve } = plane.group.backend;
  const order = { pool, machine: "workers-1", isLost: false, taken: [] };
  const snapshot = { keep: "Folder", folder: "/backups", name: "control-1" } as const;
  keepSnapshots(plane);
  deepEqual(await relieve?.({ ...order, snapshot }), {
    state: "InDoubt",
    doubts: ['member "workers-1" is the last voter: etcd cannot run without it'],
  });
  equal((await relieve?.({ ...order, returns: true, snapshot }))?.state, "Relieved");
  deepEqual([plane.etcd.leader, plane.etcd.orders], ["m1", ["snapshot beside "]]);
});

Deno.test("K27 relieve: refuses a machine that will return, if the other voters are not a quorum because a control plane that the cloud still declares has not joined", async () => {
  const plane = await controlPlane();
  const { cloud, backend } = plane.group;
  await plane.etcd.removeMember("m3"); // lost, and its replacement has not joined yet
  plane.etcd.orders.length = 0;
  const order = { pool, machine: "workers-1", isLost: false, taken: [], returns: true as const };
  const doubt = 'without member "workers-1", 1 of 2 voters are healthy, and a quorum needs both';
  deepEqual(await backend.relieve?.(order), { state: "InDoubt", doubts: [doubt] });
  deepEqual(plane.etcd.orders, []);
  equal((await backend.relieve?.({ ...order, isLost: true }))?.state, "Relieved", "A lost machine must be accepted");
  cloud.remove(cloud.instances()[2]?.providerId ?? "", true); // two control planes are declared
  equal((await backend.relieve?.(order))?.state, "Relieved");
});

Deno.test("K27 relieve: refuses a machine that will return while the member of another machine does not respond", async () => {
  const plane = await controlPlane();
  plane.etcd.silent("m2");
  const order = { pool, machine: "workers-1", isLost: false, taken: [], returns: true as const };
  deepEqual(await plane.group.backend.relieve?.(order), {
    state: "InDoubt",
    doubts: ['member "workers-2" does not respond: timeout'],
  });
  deepEqual(plane.etcd.orders, []);
});
