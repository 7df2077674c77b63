import assert from "node:assert/strict";
import { hashOf } from "../../../../activities/node_version/version_release.ts";
import { FakeWorld, readyStatus, rollingStatus } from "../../../support/fake_world.ts";

const spec = { image: "image-2", imageVersion: "v2", kubernetesComponentsReference: "components-2" };

/**
 * Returns a world with a NodeVersion of one group of control planes and of two groups of workers, of which "alpha" is
 * being rolled; group "other" has another NodeVersion.
 */
function world(status: object = {}): FakeWorld {
  const made = new FakeWorld();
  made.kube.put("nodeversions", { metadata: { name: "all" }, spec, status: { conditions: [rolling], ...status } });
  const group = (name: string, role: string, rollout: object, nodeImage = "all"): void => {
    made.kube.put("scalinggroups", { metadata: { name }, spec: { nodeImage, groupId: `g/${name}`, role } });
    const metadata = { namespace: "kube-system", name: `scaling-group.${name}` };
    made.kube.put("rollouts", { metadata, status: rollout });
  };
  group("cp", "ControlPlane", readyStatus());
  group("alpha", "Worker", rollingStatus({ message: "Joining alpha-new-1" }));
  group("beta", "Worker", readyStatus());
  group("other", "Worker", readyStatus(), "another");
  return made;
}

const rolling = {
  type: "Ready",
  status: "False",
  reason: "Rolling",
  message: "Nodes not up to date: 3 outdated, 1 joining",
};

Deno.test("ostler status nodeversion/NAME: shows its stages and groups as a tree", async () => {
  const { code, out } = await world().run(["status", "nodeversion/all"]);
  assert.equal(code, 0);
  assert.deepEqual(out.split("\n"), [
    "nodeversion/all  v2  Rolling: Nodes not up to date: 3 outdated, 1 joining",
    "├─ control planes: waiting for release; 1 of 1 group converged",
    "│  └─ sg/cp   10/10   Converged",
    "└─ workers: waiting for release; 1 of 2 groups converged",
    "   ├─ sg/alpha   3/10    Rolling     Joining alpha-new-1",
    "   └─ sg/beta    10/10   Converged",
    "",
  ]);
});

Deno.test("K23 ostler status nodeversion/NAME: shows that worker groups wait for release while only control planes are released", async () => {
  const digest = hashOf({ image: spec.image, components: spec.kubernetesComponentsReference });
  const { out } = await world({ released: { stage: "ControlPlane", digest } }).run(["status", "nodeversion/all"]);
  assert.match(out, /^├─ control planes: 1 of 1 group converged$/m);
  assert.match(out, /^└─ workers: waiting for release; 1 of 2 groups converged$/m);
});

Deno.test("ostler status: shows the NodeVersions of the listed groups, also as JSON", async () => {
  const made = world();
  const { out } = await made.run(["status", "-n", "kube-system"]);
  assert.match(out, /^scaling-group\.alpha .*\n(.*\n)*\nnodeversion\/all {2}v2 .*\n├─ control planes/m);
  const data = JSON.parse((await made.run(["status", "-A", "-o", "json"])).out);
  assert.deepEqual(data.nodeVersions, [{
    ...{ name: "all", image: "image-2", imageVersion: "v2", components: "components-2" },
    ready: { status: "False", reason: "Rolling", message: "Nodes not up to date: 3 outdated, 1 joining" },
    groups: { ControlPlane: ["scaling-group.cp"], Workers: ["scaling-group.alpha", "scaling-group.beta"] },
  }]);
});

const dayMs = 24 * 3_600_000;

/**
 * Returns a certificate that expires in `expires` days, and counts as ExpiresSoon from `soon` days from now on; without
 * `expires`, returns one that could not be read.
 */
function certificate(of: string, component: string, expires?: number, soon = 0): object {
  const at = (days: number): string => new Date(new FakeWorld().time + days * dayMs).toISOString();
  const times = expires === undefined
    ? { unknown: "the TLS handshake failed (ECONNREFUSED)" }
    : { expiresAt: at(expires), soonAt: at(soon) };
  return { component, of, at: `192.0.2.1:${component === "Etcd" ? 2379 : 6443}`, readAt: at(0), ...times };
}

const certificates = [
  certificate("cp-1", "APIServer", 300, 200),
  certificate("cp-2", "Etcd"),
  certificate("cp-3", "APIServer", 65, -1),
  certificate("cp-4", "APIServer", -2, -90),
];

Deno.test("ostler status nodeversion/NAME: shows when certificates expire, most urgent first", async () => {
  const made = world({ certificates });
  const { out } = await made.run(["status", "nodeversion/all"]);
  const day = (days: number): string => new Date(made.time + days * dayMs).toISOString().slice(0, 10);
  assert.deepEqual(out.split("\n").slice(7), [
    "certificates of control planes: 1 expired, 1 expires soon, 1 unknown, 1 valid",
    "EXPIRES                STATE          CERTIFICATE   OF     AT",
    `${day(-2)} (2d ago)    expired        API server    cp-4   192.0.2.1:6443`,
    `${day(65)} (in 65d)    expires soon   API server    cp-3   192.0.2.1:6443`,
    "                       unknown        etcd          cp-2   192.0.2.1:2379: the TLS handshake failed (ECONNREFUSED)",
    `${day(300)} (in 300d)   valid          API server    cp-1   192.0.2.1:6443`,
    "",
  ]);
  const data = JSON.parse((await made.run(["status", "nodeversion/all", "-o", "json"])).out);
  assert.deepEqual(data.certificates.map(({ of, state }: { of: string; state: string }) => [of, state]), [
    ...[["cp-4", "Expired"], ["cp-3", "ExpiresSoon"], ["cp-2", "Unknown"], ["cp-1", "Valid"]],
  ]);
});

Deno.test("ostler status: shows only certificates that are expired, expire soon or are unknown", async () => {
  const { out } = await world({ certificates }).run(["status", "-n", "kube-system"]);
  assert.match(out, /^certificates of control planes: 1 expired, .*\n(.*\n){1,4}.* cp-2 .*$/m);
  assert.ok(!out.includes("cp-1"));
  const { out: well } = await world({ certificates: certificates.slice(0, 1) }).run(["status", "-n", "kube-system"]);
  assert.ok(!well.includes("certificates"));
});

Deno.test("ostler status nodeversion/NAME: shows 20 of 300 certificates, and all with -o wide", async () => {
  const many = Array.from({ length: 300 }, (_, nth) => certificate(`cp-${nth}`, "Etcd", 300 + nth, 200));
  const made = world({ certificates: many });
  const { out } = await made.run(["status", "nodeversion/all"]);
  assert.match(out, /^280 more certificates: ostler status nodeversion\/all -o wide$/m);
  const { out: wide } = await made.run(["status", "nodeversion/all", "-o", "wide"]);
  assert.equal(wide.match(/ valid /g)?.length, 300);
});

Deno.test("ostler status nodeversion/NAME: prints no control characters from certificates in the status", async () => {
  const odd = { ...certificate("cp\u001b[31m-1\n", "Etcd"), at: "\u202e", unknown: "\u0007" };
  const { code, out } = await world({ certificates: [odd, null, { component: "Other" }] }).run(["status", "nv/all"]);
  assert.equal(code, 0);
  // deno-lint-ignore no-control-regex
  assert.doesNotMatch(out, /[\u0000-\u0009\u000b-\u001f\u202e]/);
});

Deno.test("ostler status nodeversion/NAME: names the active groups among many groups, and counts the other groups", async () => {
  const made = world();
  for (let nth = 0; nth < 30; nth++) {
    const name = `g${nth}`;
    made.kube.put("scalinggroups", { metadata: { name }, spec: { nodeImage: "all", groupId: name, role: "Worker" } });
    made.kube.put("rollouts", {
      metadata: { namespace: "kube-system", name: `scaling-group.${name}` },
      status: readyStatus(),
    });
  }
  const { out } = await made.run(["status", "nv/all"]);
  assert.match(out, /workers: .*31 of 32 groups converged\n {3}├─ sg\/alpha .*\n {3}└─ 31 more groups/);
});

Deno.test("ostler status: refuses a missing NodeVersion, with a similar name", async () => {
  const { code, err } = await world().run(["status", "nodeversion/al"]);
  assert.equal(code, 1);
  assert.match(err, /Failed to find NodeVersion "al": no such name.*all/);
});

Deno.test("ostler plan: gets the plan of a scaling group from a worker, because only workers reach its cloud", async () => {
  const made = world({
    released: { stage: "Workers", digest: hashOf({ image: "image-2", components: "components-2" }) },
  });
  made.plan = {
    ...{ hash: "abc", machines: 3, seconds: null, blocked: [] },
    waves: [{ size: 2, machines: ["alpha-1", "alpha-2"], soakSeconds: 0 }],
    stays: ["until the cloud no longer protects these machines: alpha-3"],
  };
  const { code, out } = await made.run(["plan", "sg/alpha"]);
  assert.equal(code, 0);
  assert.deepEqual(made.planned, [{ namespace: "kube-system", name: "scaling-group.alpha", kind: "ScalingGroup" }]);
  for (
    const part of [
      /^kube-system\/scaling-group\.alpha: 2 of 3 machines will be replaced, in 1 wave$/m,
      /alpha-1, alpha-2/,
      /^kept +until the cloud no longer protects these machines: alpha-3$/m,
    ]
  ) assert.match(out, part);
  assert.ok(!out.includes("not released"));
});

Deno.test("ostler plan: requests no plan of another cluster's scaling group of the same name", async () => {
  const made = world();
  made.plan = { ...{ hash: "abc", machines: 3, seconds: null, blocked: [] }, waves: [] };
  made.home = { ...made.home, owner: "Other" };
  const { code, err } = await made.run(["plan", "sg/alpha"]);
  assert.deepEqual([code, made.planned], [2, []]);
  assert.match(err, /^Failed to plan the rollout of "kube-system\/scaling-group.alpha": Schedule .* another cluster; /);
});

Deno.test("ostler plan: shows that the NodeVersion has not yet released the scaling group", async () => {
  const made = world();
  made.plan = { ...{ hash: "abc", machines: 3, seconds: null, blocked: [] }, waves: [] };
  const { out } = await made.run(["plan", "sg/alpha"]);
  assert.match(out, /^blocked +NodeVersion "all" is not released to this group yet$/m);
});

Deno.test("fault G13: ostler plan warns of an autoscaler that manages the group without an AutoscalingStrategy", async () => {
  const made = world();
  made.plan = { ...{ hash: "abc", machines: 3, seconds: null, blocked: [] }, waves: [] };
  const group = made.kube.get("scalinggroups", "alpha");
  Object.assign(group?.["spec"] as object, { autoscalerGroupName: "alpha-asg" });
  const time = new Date().toISOString().replace("T", " ").replace("Z", " +0000 UTC");
  const annotations = { "cluster-autoscaler.kubernetes.io/last-updated": time };
  const metadata = { namespace: "kube-system", name: "cluster-autoscaler-status", annotations };
  made.kube.put("configmaps", { metadata, data: { status: "nodeGroups:\n- name: alpha-asg\n" } });
  const { out } = await made.run(["plan", "sg/alpha"]);
  assert.match(out, /^warning +cluster-autoscaler manages group "alpha-asg"/m);
});
