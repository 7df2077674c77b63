import { openCluster } from "../../../../../activities/cluster.ts";
import type { Driver } from "../../../../../activities/clouds/driver.ts";
import { scalingGroup } from "../../../../../activities/backends/scaling_group/mod.ts";
import { hashOf } from "../../../../../activities/node_version/version_release.ts";
import { answer } from "../../../../support/fake_kube.ts";
import { directCloud, GroupInMemory, holder, next, pool, version } from "../../../../support/group_in_memory.ts";
import { interrupted } from "../../../../support/interrupted.ts";
import { prove, type Scene } from "../conformance.ts";

const groupId = "projects/p/groups/workers";

const answers = {
  Forbidden: answer(403, "Forbidden"),
  Throttled: answer(429, "TooManyRequests"),
  Invalid: answer(422, "Invalid"),
};

/**
 * Returns a group to which another image is released. One new machine runs that image; the deletion of the old machine
 * that it replaces is recorded, but the cloud has not received it.
 */
function rollingGroup(): GroupInMemory {
  const group = new GroupInMemory();
  const { kube, cloud } = group;
  const inCloud = cloud.group(groupId);
  if (!inCloud) throw new Error(`Failed to set up the group: "${groupId}" does not exist`);
  const before = inCloud.boots.id;
  cloud.useTemplate(inCloud, cloud.addTemplate(inCloud, { ...inCloud.boots.fields, image: next.image }).id);
  const heir = cloud.order(inCloud, "workers-new-1");
  group.join(heir.providerId, next);
  kube.put("pendingnodes", {
    metadata: {
      ...{ name: "workers-new-1", finalizers: ["ostler.dev/pending-node"] },
      annotations: { "ostler.dev/donor": "workers-2", "ostler.dev/target": hashOf(next) },
    },
    spec: { providerID: heir.providerId, groupID: groupId, goal: "Join", nodeName: heir.node },
    status: { cspState: "Ready", reachedGoal: true },
  });
  group.ask(next, { stage: "Workers", digest: hashOf(next) });
  const boots = { ...next, template: inCloud.boots.id };
  const object = kube.get("scalinggroups", "workers");
  if (object) {
    object.metadata.annotations = {
      "ostler.dev/boots": JSON.stringify(boots),
      "ostler.dev/booted-before": JSON.stringify({ ...version, template: before }),
      "ostler.dev/tokens": JSON.stringify({ next: 2, unused: [] }),
      "ostler.dev/declared-size": "3",
    };
  }
  const good = { templateHash: hashOf(version), revision: "1", image: version.image, kubelet: "", configDigest: "d" };
  const { namespace, name } = pool;
  kube.put("rollouts", { metadata: { namespace, name }, status: { lastGood: { ...good, specHash: hashOf(version) } } });
  const [, leaving] = cloud.instances();
  const marks = { "ostler.dev/chosen-by": holder, "ostler.dev/cordoned-by": holder };
  group.join(leaving?.providerId ?? "", version, { annotations: marks });
  const node = kube.get("nodes", leaving?.node ?? "");
  if (node) (node["spec"] as Record<string, unknown>)["unschedulable"] = true;
  kube.put("pendingnodes", {
    metadata: {
      ...{ name: "workers.workers-2.going", finalizers: ["ostler.dev/pending-node"] },
      annotations: { "ostler.dev/member": "workers-2", "ostler.dev/shrinks": "true" },
    },
    spec: { providerID: leaving?.providerId, groupID: groupId, goal: "Leave" },
  });
  return group;
}

function scene(): Scene {
  const group = rollingGroup();
  return {
    ...{ pool, place: { profileNamespace: "kube-system" }, held: "workers-new-2", victim: "workers-3" },
    serving: { machine: "workers-1", node: "workers-1" },
    leaving: { machine: "workers-2", node: "workers-2" },
    idle: ["spare", "replace (held machine)", "stamp"],
    backend: (interruption, onCall = () => {}) => {
      const driver = directCloud(group.cloud);
      const whole = { ...group.kube.clients, verbs: driver };
      const kube = interruption ? interrupted(whole, interruption, onCall) : whole;
      const cloud = (): Promise<Driver> => Promise.resolve({ ...driver, ...verbsOf(kube.verbs) });
      return scalingGroup(openCluster(kube, { cloud }));
    },
    dump: () => standing(group),
    clear: () => {
      group.kube.remove("scalinggroups", "workers");
      for (const { providerId } of group.cloud.instances()) group.cloud.remove(providerId, true);
    },
    answerAll: (which) => {
      group.kube.onRequest = () => {
        throw answers[which];
      };
    },
  };
}

/** Returns the calls of a driver as plain functions; a test passes a driver whose calls it interrupts. */
function verbsOf(driver: Driver): Omit<Driver, "title" | "capabilities" | "lookEvery"> {
  return {
    ...{ groups: () => driver.groups(), group: (id) => driver.group(id), template: (id) => driver.template(id) },
    ...{ ensureImage: (order) => driver.ensureImage(order), ensureTemplate: (order) => driver.ensureTemplate(order) },
    ...{ instances: (id) => driver.instances(id), instance: (id) => driver.instance(id) },
    ...{ order: (order) => driver.order(order), remove: (order) => driver.remove(order) },
  };
}

function standing({ kube, cloud }: GroupInMemory): string {
  const kinds = ["scalinggroups", "nodeversions", "pendingnodes", "nodes", "rollouts"];
  const objects = kinds.flatMap((kind) =>
    kube.all(kind).map(({ metadata, ...rest }) => {
      const { resourceVersion: _version, creationTimestamp: _created, ...said } = metadata;
      return [kind, ordered(said), ordered(rest)];
    })
  );
  const { size = 0, templates = [], boots } = cloud.group(groupId) ?? {};
  const instances = cloud.instances().map(({ providerId, state, token }) => ({ providerId, state, token }));
  const text = JSON.stringify({ objects, size, boots: boots?.id, templates, instances });
  // IDs are random and times come from the clock, so fixed texts replace both.
  const ids = templates.map(({ id }) => id);
  return ids.reduce((found, id, nth) => found.replaceAll(id, `template ${nth}`), text)
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "then");
}

function ordered(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, of]) => [key, ordered(of)]),
  );
}

prove("scaling group", scene);
