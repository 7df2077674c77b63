/** `ostler setup` against a Temporal and an API server in memory. */
import assert from "node:assert/strict";
import { Unreachable } from "../../../../cli/failure.ts";
import { answer, FakeKube, type Reviewed } from "../../../support/fake_kube.ts";
import { FakeWorld } from "../../../support/fake_world.ts";

const [permissionDenied, unimplemented, unavailable] = [7, 12, 14];
const granted = `permissions of ServiceAccount "ostler-system/ostler-controller": all permissions present
permissions of ServiceAccount "ostler-system/ostler-worker": all permissions present
permissions of ServiceAccount "ostler-system/ostler-webhook": all permissions present
`;

function setUp(world: FakeWorld, ...args: string[]): ReturnType<FakeWorld["run"]> {
  return world.run(["setup", "--temporal-namespace", "fleet", ...args]);
}

Deno.test("ostler setup: creates a missing namespace and search attributes, and writes nothing on the next run", async () => {
  const world = new FakeWorld();
  world.temporal.deafFor = 3;
  const first = await setUp(world, "--cluster", "north");
  assert.deepEqual([first.code, first.err], [0, ""]);
  assert.equal(
    first.out,
    `namespace "fleet": created, with a retention of 7d
search attributes: registered "KubernetesCluster", "KubernetesNamespace", "MachineDeployment", "TargetImage", "Phase"
${granted}`,
  );
  const writes = [...world.temporal.writes];
  const again = await setUp(world, "--cluster", "north");
  assert.equal(
    again.out,
    `namespace "fleet": already exists, with a retention of 7d\nsearch attributes: already exist\n${granted}`,
  );
  assert.deepEqual([again.code, world.temporal.writes], [0, writes]);
});

Deno.test("fault S3: ostler setup warns of a Temporal that answers clients without credentials, and does not fail", async () => {
  const world = new FakeWorld();
  world.temporal.asksNobody = true;
  const { code, out } = await setUp(world, "--no-rights");
  assert.equal(code, 0);
  assert.match(out, /^access to Temporal: WARNING: temporal\.test:7233 answers clients without credentials, .* drain/m);
  assert.match((await setUp(world, "--no-rights", "--dry-run")).out, /^access to Temporal: WARNING/m);
  world.temporal.asksNobody = false;
  assert.doesNotMatch((await setUp(world, "--no-rights")).out, /access to Temporal/);
});

Deno.test("ostler setup: changes the retention of an existing namespace only on request", async () => {
  const world = new FakeWorld();
  world.temporal.namespaces.set("fleet", { retention: 3 * 86_400, columns: new Set() });
  assert.match((await setUp(world)).out, /^namespace "fleet": already exists, with a retention of 3d$/m);
  assert.match((await setUp(world, "--retention", "30d", "--dry-run")).out, /would be changed from 3d to 30d$/m);
  assert.equal(world.temporal.namespaces.get("fleet")?.retention, 3 * 86_400);
  assert.match(
    (await setUp(world, "--retention", "30d")).out,
    /^namespace "fleet": its retention changed from 3d to 30d$/m,
  );
  assert.equal(world.temporal.namespaces.get("fleet")?.retention, 30 * 86_400);
  assert.match((await setUp(world, "--retention", "30d")).out, /already exists, with a retention of 30d$/m);
});

Deno.test("ostler setup: --dry-run writes nothing, and reports what it would do", async () => {
  const world = new FakeWorld();
  const { code, out } = await setUp(world, "--dry-run", "--no-rights");
  assert.equal(code, 0);
  assert.equal(
    out,
    'namespace "fleet": would be created, with a retention of 7d\nsearch attributes: would be registered\n',
  );
  world.temporal.namespaces.set("fleet", { retention: 86_400, columns: new Set(["Phase", "TargetImage"]) });
  const known = await setUp(world, "--dry-run", "--no-rights");
  assert.match(known.out, /^search attributes: would be registered: "KubernetesNamespace", "MachineDeployment"$/m);
  assert.deepEqual(world.temporal.writes, []);
});

for (const code of [permissionDenied, unimplemented]) {
  Deno.test(`ostler setup: explains the manual steps when Temporal answers writes with gRPC status ${code}`, async () => {
    const world = new FakeWorld();
    world.temporal.refusal = (method) => /^(register|update|add)/.test(method) ? code : undefined;
    const absent = await setUp(world, "--no-rights");
    assert.deepEqual([absent.code, absent.err], [1, ""]);
    assert.equal(
      absent.out,
      'namespace "fleet": does not exist, and Temporal at temporal.test:7233 refuses the request: ' +
        "refused by the fake; " +
        "an administrator must run `temporal operator namespace create --namespace fleet --retention 168h`\n",
    );
    world.temporal.namespaces.set("fleet", { retention: 86_400, columns: new Set(["Phase"]) });
    const there = await setUp(world, "--no-rights", "--retention", "3d");
    assert.equal(there.code, 1);
    assert.match(there.out, /`temporal operator namespace update --namespace fleet --retention 72h`$/m);
    assert.match(there.out, /^search attributes: Failed to register .*`temporal operator search-attribute create /m);
    world.temporal.namespaces.set("fleet", { retention: 86_400, columns: new Set(all) });
    assert.equal((await setUp(world, "--no-rights")).code, 0, "nothing is left to do");
  });
}

const all = ["KubernetesNamespace", "MachineDeployment", "TargetImage", "Phase"];

Deno.test("ostler setup: reports that the worker may not write the shared budgets in the namespace of profiles", async () => {
  const world = new FakeWorld();
  world.kube.mayDo = (_, { resource, namespace }) => resource !== "configmaps" || namespace === "kube-system";
  assert.equal((await setUp(world)).code, 0);
  const { code, out } = await setUp(world, "--profile-namespace", "profiles");
  assert.equal(code, 1);
  assert.match(
    out,
    /ostler-worker": missing permissions: create configmaps in profiles, get configmaps "ostler-budget"/,
  );
  world.management = { kube: new FakeKube(), namespace: "profiles" };
  assert.equal((await setUp(world, "--profile-namespace", "profiles")).code, 0, "The worker cluster has the budgets");
});

Deno.test("ostler setup: names the missing permissions of a process by its ServiceAccount", async () => {
  const world = new FakeWorld();
  world.kube.mayDo = (user, { verb, resource }) =>
    !(user.endsWith(":worker-of:ostler-worker") && `${verb} ${resource}` === "create pods");
  const { code, out } = await setUp(world, "--system-namespace", "worker-of");
  assert.equal(code, 1);
  assert.match(out, /^permissions of ServiceAccount "worker-of\/ostler-controller": all permissions present$/m);
  assert.match(
    out,
    /ostler-worker": missing permissions: create pods\/eviction; apply deploy\/kubernetes\/rbac, or the chart$/m,
  );
  world.kube.mayDo = (user) => !user.endsWith(":ostler-webhook");
  for (const [hasPolicies, outcome] of [[true, 0], [false, 1]] as const) {
    world.kube.hasPolicies = hasPolicies;
    assert.equal((await setUp(world)).code, outcome, "Unexpected exit code without a webhook");
  }
  world.kube.onRequest = () => {
    throw answer(403, "Forbidden", "no");
  };
  const blind = await setUp(world);
  assert.equal(blind.code, 0);
  assert.match(blind.out, /ostler-worker": skipped: you cannot create SubjectAccessReviews$/m);
});

Deno.test("ostler setup: checks the webhook's permissions in the management cluster and in the worker cluster separately", async () => {
  const world = new FakeWorld();
  world.management = { kube: new FakeKube(), namespace: "north" };
  const asked = { worker: new Set<string>(), management: new Set<string>() };
  const remembering = (of: keyof typeof asked) => (_: string, { verb, resource, namespace, name }: Reviewed): boolean =>
    Boolean(asked[of].add([verb, resource, namespace ?? "*", name ?? "*"].join(" ")));
  world.kube.mayDo = remembering("worker");
  world.management.kube.mayDo = remembering("management");
  const given = ["--system-namespace", "north-system", "--profile-namespace", "north"];
  const { code, out } = await setUp(world, ...given);
  assert.equal(code, 0, out);
  for (const where of ["management", "worker"]) {
    assert.match(out, new RegExp(`webhook" in the ${where} cluster: all permissions`));
  }
  assert.deepEqual([...asked.management].filter((each) => / \* \S+$/.test(each)).sort(), [
    "get validatingwebhookconfigurations * north.operatingsystemmanager.k8c.io",
    "update validatingwebhookconfigurations * north.operatingsystemmanager.k8c.io",
  ]);
  const ofPools = [...asked.worker].filter((each) => /operatingsystem(profile|config)s|validating|leases/.test(each));
  assert.deepEqual(ofPools, []);
  assert.ok(asked.management.has("update secrets north-system ostler-webhook-authority"));
  // In the worker cluster the webhook needs no permissions while MutatingAdmissionPolicies can hold new machines.
  world.kube.mayDo = (user) => !user.endsWith(":ostler-webhook");
  assert.match(
    (await setUp(world, ...given)).out,
    /worker cluster: none, as expected .*; a MutatingAdmissionPolicy can hold .*$/m,
  );
  world.kube.hasPolicies = false;
  assert.match(
    (await setUp(world, ...given)).out,
    /worker cluster: missing permissions: .*; without MutatingAdmissionPolicies only the webhook/,
  );
});

Deno.test("ostler setup -o json: prints each step with its outcome", async () => {
  const world = new FakeWorld();
  const { items } = JSON.parse((await setUp(world, "-o", "json", "--no-rights")).out);
  assert.deepEqual(items.map(({ about, outcome }: Record<string, string>) => [about, outcome]), [
    ['namespace "fleet"', "Created"],
    ["search attributes", "Created"],
  ]);
});

Deno.test("ostler setup: exits with 4 when Temporal is unreachable, and with 2 for an invalid retention", async () => {
  const world = new FakeWorld();
  for (const retention of ["0", "1h", "a week"]) assert.equal((await setUp(world, "--retention", retention)).code, 2);
  world.temporal.refusal = () => unavailable;
  assert.deepEqual(await setUp(world), {
    code: 4,
    out: "",
    err: "Failed to reach Temporal at temporal.test:7233: refused by the fake\n",
  });
  world.unreachable = new Unreachable("Failed to reach Temporal at temporal.test:7233: no answer in 5 seconds");
  assert.equal((await setUp(world)).code, 4);
});
