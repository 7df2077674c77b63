/** `ostler release`: refusals, messages, and repeated runs after an interruption. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { lockAnnotation } from "../../../../activities/backends/node_pool/lock.ts";
import { noteAnnotation } from "../../../../activities/backends/node_pool/note.ts";
import { heirAnnotation } from "../../../../activities/node_version/group_nodes.ts";
import { makeAuthority } from "../../../../activities/x509/self_made.ts";
import { Unreachable } from "../../../../cli/failure.ts";
import { closeTemplateEngines, namesOf } from "../../../../profiles/mod.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { HandoverWorld, usual } from "../../../support/handover_world.ts";
import { hold, holder, machine, machineDeployment, machineSet, mark } from "../../../support/machine_objects.ts";
import { putProfile } from "../../../support/publishing_kube.ts";

Deno.test.afterAll(() => closeTemplateEngines());

/** A cluster that Ostler took over from Operating System Manager. */
async function ostlersCluster(): Promise<HandoverWorld> {
  const world = new HandoverWorld();
  await world.osm.look();
  assert.equal((await world.run(["adopt"])).code, 0);
  await world.runOstler();
  world.kube.writes.length = 0;
  return world;
}

function lease(renewTime: number): object {
  return { holderIdentity: "somebody", leaseDurationSeconds: 15, renewTime: new Date(renewTime).toISOString() };
}

Deno.test("ostler release: --dry-run shows each pool and everything to be removed, and writes nothing", async () => {
  const world = await ostlersCluster();
  const { code, out } = await world.run(["release", "--dry-run"]);
  assert.equal(code, 0, out);
  assert.match(out, /^POOL +PROFILE +BOOTS FROM +OUTCOME +NOTE\n/);
  assert.match(out, /^fleet\/pool +osp-ubuntu +Ostler's, revision 1 +give back$/m);
  assert.match(out, /^Schedule "renew-credentials": would be removed$/m);
  assert.match(out, /^MutatingAdmissionPolicy "hold-new-machines.ostler.dev": would be removed$/m);
  assert.deepEqual([world.kube.writes, world.temporal.writes], [[], []]);
  const asData = JSON.parse((await world.run(["release", "--dry-run", "-o", "json"])).out) as { pools: unknown[] };
  assert.equal(asData.pools.length, 4);
});

Deno.test("ostler release: asks for a confirmation, and changes nothing without one", async () => {
  const world = await ostlersCluster();
  assert.match((await world.run(["release"])).err, /no terminal; give --yes/);
  const { code, err } = await world.run(["release"], { ask: () => Promise.resolve("n") });
  assert.deepEqual([code, err, world.kube.writes], [1, "Release cancelled: nothing was changed\n", []]);
});

Deno.test("ostler release: refuses while a worker of Ostler or Operating System Manager runs, and names the command that stops it", async () => {
  const world = await ostlersCluster();
  const deployment = (name: string, namespace: string, labels = {}): void =>
    void world.kube.put("deployments", { metadata: { namespace, name, labels }, spec: { replicas: 1 } });
  deployment("ostler-worker", "ostler-system", { "app.kubernetes.io/name": "ostler" });
  deployment("operating-system-manager", "kube-system");
  const { code, err } = await world.run(["release", "--yes"]);
  assert.equal(code, 1);
  assert.match(err, /`kubectl -n ostler-system scale deployment ostler-worker --replicas=0`/);
  assert.match(
    err,
    /`kubectl -n kube-system scale deployment operating-system-manager --replicas=0`, and start it after the release/,
  );
  assert.deepEqual(world.kube.writes, []);
});

Deno.test("ostler release: treats a Lease as held while its renewTime changes, whatever the clocks show", async () => {
  const world = await ostlersCluster();
  const where = { namespace: "ostler-system", name: "ostler-controller" };
  const put = (renewTime: number): void => void world.kube.put("leases", { metadata: where, spec: lease(renewTime) });
  let skewed = world.time + 60_000;
  put(skewed);
  world.onSleep = () => put(skewed += 2000);
  const alive = await world.run(["release", "--yes"]);
  assert.match(alive.err, /Ostler is running: "somebody" renews Lease "ostler-system\/ostler-controller"/);
  world.onSleep = () => {};
  const dead = await world.run(["release", "--yes"]);
  assert.equal(dead.code, 0, dead.err);
});

Deno.test("ostler release: refuses while a machine is held, because machine-controller would continue the rollout", async () => {
  const world = await ostlersCluster();
  world.kube.put("machinesets", machineSet("2", "hash-2"));
  world.kube.put(
    "machines",
    machine("c", { hash: "hash-2", annotations: { [hold]: holder, [mark]: holder }, status: {} }),
  );
  const { code, err } = await world.run(["release", "--yes"]);
  assert.equal(code, 1);
  assert.match(err, /pool "fleet\/pool": unfinished rollout: machine "c" is held, .*abort it, or give --unfinished/);
  world.temporal.runs.add("machine-deployment/fleet/pool").add("machine-deployment/fleet/other");
  assert.equal((await world.run(["release", "--yes", "--unfinished"])).code, 0);
  assert.deepEqual(world.kube.get("machines", "c", "fleet")?.metadata.annotations, {});
  assert.deepEqual([...world.temporal.runs], ["machine-deployment/fleet/other"]);
});

Deno.test("ostler release: uncordons the nodes that Ostler cordoned for each kind of pool, and no other nodes", async () => {
  const world = await ostlersCluster();
  const scale = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
  const by = ["machine-deployment/fleet/pool", "scaling-group/kube-system/workers", "site/node-pool/fleet/edge"];
  by.forEach((owner, nth) => {
    const annotations = {
      "ostler.dev/cordoned-by": owner,
      "ostler.dev/scale-down-disabled-by": owner,
      [scale]: "true",
    };
    world.kube.put("nodes", { metadata: { name: `n${nth}`, annotations }, spec: { unschedulable: true } });
  });
  world.kube.put("nodes", {
    metadata: { name: "theirs", annotations: { [scale]: "true" } },
    spec: { unschedulable: true },
  });
  assert.equal((await world.run(["release", "--yes"])).code, 0);
  const nodes = world.kube.all("nodes").filter(({ metadata: { name } }) => /^n\d$|theirs/.test(name));
  const seen = nodes.map(({ metadata, spec }) => [metadata.name, JSON.stringify(spec), metadata.annotations]);
  assert.deepEqual(seen, [
    ...by.map((_, nth) => [`n${nth}`, "{}", {}]),
    ["theirs", '{"unschedulable":true}', { [scale]: "true" }],
  ]);
});

Deno.test("ostler release: keeps the facts on nodes of kept NodePools and ScalingGroups, such as failed images and held locks", async () => {
  const world = await ostlersCluster();
  const facts = { [noteAnnotation]: '{"failed":[]}', [lockAnnotation]: '{"held":1}', [heirAnnotation]: "i-1" };
  const annotations = { ...facts, "ostler.dev/cordoned-by": "node-pool/fleet/edge" };
  world.kube.put("nodes", { metadata: { name: "gpu", annotations }, spec: { unschedulable: true } });
  assert.equal((await world.run(["release", "--yes"])).code, 0);
  assert.deepEqual(world.kube.get("nodes", "gpu")?.metadata.annotations, facts);
  const again = await world.run(["release", "--yes"]);
  assert.match(again.out, /^holds, marks and cordons of Ostler: none found$/m);
});

Deno.test("ostler release: with --unfinished, restores the minimum size that Ostler raised for an autoscaler", async () => {
  const world = await ostlersCluster();
  const bound = "cluster.k8s.io/cluster-api-autoscaler-node-group";
  const record = "ostler.dev/autoscaler-min-size";
  const given = world.kube.get("machinedeployments", "pool", "fleet");
  const raised = { [`${bound}-min-size`]: "3", [`${bound}-max-size`]: "9", [record]: "1 3" };
  const annotations = { ...given?.metadata.annotations, ...raised };
  world.kube.put("machinedeployments", { ...given, metadata: { ...given?.metadata, name: "pool", annotations } });
  world.kube.put("rollouts", { metadata: { ...usual }, status: { phase: "Rolling" } });
  assert.equal((await world.run(["release", "--yes", "--unfinished"])).code, 0);
  const left = world.kube.get("machinedeployments", "pool", "fleet")?.metadata.annotations ?? {};
  assert.deepEqual([left[`${bound}-min-size`], left[record]], ["1", undefined]);
});

Deno.test("ostler release: refuses a running rollout, an unpublished revision, and a booting machine", async () => {
  const refusals: [RegExp, (world: HandoverWorld) => unknown][] = [
    [
      /its rollout is Halted/,
      ({ kube }) => kube.put("rollouts", { metadata: { ...usual }, status: { phase: "Halted" } }),
    ],
    [/revision 2 is not published yet; the published one is 1/, ({ kube }) => {
      const annotations = { "machinedeployment.clusters.k8s.io/revision": "2" };
      kube.put("machinedeployments", machineDeployment({ annotations }));
    }],
    [
      /machine "c" is booting with credentials of Ostler/,
      ({ kube }) => kube.put("machines", machine("c", { status: {} })),
    ],
  ];
  const world = await ostlersCluster();
  const before = ["rollouts", "machinedeployments"].map((plural) =>
    structuredClone(world.kube.get(plural, "pool", "fleet"))
  );
  for (const [said, change] of refusals) {
    change(world);
    const { code, err } = await world.run(["release", "--yes"]);
    assert.equal(code, 1);
    assert.match(err, said);
    for (const [at, plural] of ["rollouts", "machinedeployments"].entries()) {
      world.kube.put(plural, before[at] as never);
    }
  }
  assert.deepEqual(world.kube.writes, []);
});

Deno.test("ostler release: groups refused pools by reason, and names the pools of all reasons after the fifth together", async () => {
  const world = await ostlersCluster();
  const phases = ["Halted", "Rolling", "Halted", "Creating", "Repairing", "RollingBack", "Waiting", "Starting"];
  phases.forEach((phase, nth) => {
    const metadata = { namespace: "fleet", name: `p${nth}` };
    world.kube.put("machinedeployments", machineDeployment({ metadata }));
    world.kube.put("rollouts", { metadata, status: { phase } });
  });
  const { code, err } = await world.run(["release", "--yes"]);
  assert.equal(code, 1);
  for (
    const said of [
      'pools "fleet/p0", "fleet/p2": unfinished rollout: its rollout is Halted; wait until',
      'pool "fleet/p1": unfinished rollout: its rollout is Rolling; wait until',
      'pools "fleet/p6", "fleet/p7": unfinished rollout, for other reasons; wait until',
    ]
  ) assert.ok(err.includes(said), err);
});

Deno.test("ostler release: refuses a pool whose profile only Ostler renders, and with --unrenderable keeps its published Secrets", async () => {
  const world = new HandoverWorld();
  putProfile(world.kube, { name: "osp-own", version: "v3.0.0", bootstrap: "<%= it.token %>", provisioning: "x" });
  const annotations = { "k8c.io/operating-system-profile": "osp-own" };
  world.kube.put("machinedeployments", machineDeployment({ annotations }));
  await world.runOstler();
  const { code, err } = await world.run(["release", "--yes"]);
  assert.equal(code, 1);
  assert.match(
    err,
    /pool "fleet\/pool": Operating System Manager cannot render the profile: profile "osp-own" uses templating: eta; select/,
  );
  assert.equal((await world.run(["release", "--yes", "--unrenderable"])).code, 0);
  const { bootstrap } = namesOf(usual);
  const text = world.text(bootstrap);
  await world.osm.look();
  assert.deepEqual(world.osm.errors, {});
  assert.equal(world.text(bootstrap), text, "Expected the working secrets to stay");
  assert.equal(world.secret(bootstrap)?.["immutable"], true);
});

Deno.test("ostler release: requires the token with which machines of Operating System Manager download their user-data", async () => {
  const world = await ostlersCluster();
  world.kube.remove("serviceaccounts", "cloud-init-getter", "cloud-init-settings");
  assert.match(
    (await world.run(["release", "--yes"])).err,
    /the API server no longer accepts the token in Secret .*: apply deploy\/cloud/,
  );
  world.kube.remove("secrets", "cloud-init-getter-token", "cloud-init-settings");
  assert.match(
    (await world.run(["release", "--yes"])).err,
    /Secret "cloud-init-settings\/cloud-init-getter-token" does not exist/,
  );
});

Deno.test("ostler release: continues after an interruption at any request", async () => {
  const whole = await ostlersCluster();
  assert.equal((await whole.run(["release", "--yes"])).code, 0);
  const count = whole.kube.writes.length;
  assert.ok(count > 40);
  // Interrupts only every third write: four pools make the same writes side by side, so each kind of write is
  // interrupted for one pool.
  for (let cut = 0; cut < count; cut += 3) {
    const world = await ostlersCluster();
    world.kube.onRequest = (request) => {
      if (world.kube.writes.length >= cut && /^(create|replace|patch|delete) /.test(request)) {
        throw answer(500, "Killed");
      }
    };
    assert.notEqual((await world.run(["release", "--yes"])).code, 0, `cut after ${cut} writes`);
    world.kube.onRequest = () => {};
    const again = await world.run(["release", "--yes"]);
    assert.equal(again.code, 0, `cut after ${cut} writes: ${again.out}${again.err}`);
    assert.deepEqual(headsOf(world), headsOf(whole), `cut after ${cut} writes`);
    await world.osm.look();
    assert.deepEqual(world.osm.errors, {});
  }
});

Deno.test("ostler release: asks to run it again, and not to start Operating System Manager, when one pool failed", async () => {
  const world = await ostlersCluster();
  world.kube.onRequest = (request) => {
    if (request === "delete rollouts fleet/pool") throw answer(500, "Busy");
  };
  const { code, out, err } = await world.run(["release", "--yes"]);
  assert.equal(code, 1);
  assert.match(out, /^pool "fleet\/pool": Failed to give back "fleet\/pool": HTTP 500, Busy$/m);
  assert.match(out, /^pools of Ostler: 3 pools given back$/m);
  assert.equal(err, "The release is incomplete: run the command again before you start Operating System Manager.\n");
  world.kube.onRequest = () => {};
  assert.match((await world.run(["release", "--yes"])).err, /^Now start Operating System Manager; /);
});

function headsOf({ kube }: HandoverWorld): string[] {
  return kube.everything().map(({ metadata: { name, annotations = {}, labels = {} } }) =>
    [name.replace(/^bootstrap-token-.*/, "token"), ...Object.keys(annotations), ...Object.keys(labels)].join(" ")
  ).sort();
}

Deno.test("ostler release: removes the objects of a pool that is being deleted, and of a deleted pool", async () => {
  const world = await ostlersCluster();
  const leaving = world.kube.get("machinedeployments", "pool", "fleet");
  const metadata = { ...leaving?.metadata, name: "pool", deletionTimestamp: new Date(0).toISOString() };
  world.kube.put("machinedeployments", { ...leaving, metadata });
  world.kube.remove("machinedeployments", "gen-minimal", "kube-system");
  const { code, out, err } = await world.run(["release", "--yes"]);
  assert.equal(code, 0, out + err);
  for (const pool of [usual, { namespace: "kube-system", name: "gen-minimal" }]) {
    assert.equal(world.secret(namesOf(pool).bootstrap), undefined);
    assert.equal(world.kube.get("rollouts", pool.name, pool.namespace), undefined);
  }
  assert.equal(
    world.kube.get("machinedeployments", "pool", "fleet"),
    undefined,
    "Expected the finalizer to be removed last",
  );
  const { writes } = world.kube;
  const cleaned = Math.max(
    writes.indexOf("delete rollouts fleet/pool"),
    writes.indexOf("delete rollouts kube-system/gen-minimal"),
  );
  const given = writes.findIndex((write) => write.startsWith("patch operatingsystemconfigs"));
  assert.ok(
    0 < cleaned && cleaned < given,
    `Expected all cleanup before the first pool is given back: ${writes.join(", ")}`,
  );
});

Deno.test("ostler release: keeps a pool whose object names are those of a deleted pool that could not be cleaned up", async () => {
  const world = await ostlersCluster();
  const [stays, goes] = [{ namespace: "a-b", name: "web" }, { namespace: "b", name: "web-a" }];
  assert.equal(namesOf(stays).config, namesOf(goes).config);
  const given = world.kube.get("machinedeployments", "pool", "fleet");
  world.kube.put("machinedeployments", { ...given, metadata: { ...given?.metadata, ...stays, uid: "uid-of-web" } });
  for (const metadata of [stays, goes]) world.kube.put("rollouts", { metadata, status: { phase: "Converged" } });
  world.kube.onRequest = (request) => {
    if (request === "delete rollouts b/web-a") throw answer(500, "InternalError", "not today");
  };
  const { code, out } = await world.run(["release", "--yes", "--unfinished", "--without-temporal"]);
  assert.equal(code, 1);
  assert.match(
    out,
    /^pool "a-b\/web": its objects have the same names as the objects of "b\/web-a", whose cleanup failed; fix that failure, and retry$/m,
  );
  assert.notEqual(
    world.kube.get("rollouts", "web", "a-b"),
    undefined,
    "Expected the pool to be still managed by Ostler",
  );
  assert.equal(world.kube.get("rollouts", "pool", "fleet"), undefined);
  world.kube.onRequest = () => {};
  await world.run(["release", "--yes", "--unfinished", "--without-temporal"]);
  assert.equal(world.kube.get("rollouts", "web", "a-b"), undefined);
});

Deno.test("ostler release: does not remove objects of another pool as stale, whatever their names", async () => {
  for (const owner of ["fleet/pool", "elsewhere/web"]) {
    const world = await ostlersCluster();
    world.kube.remove("operatingsystemconfigs", namesOf(usual).config, "kube-system");
    const { bootstrap } = namesOf(usual);
    const secret = world.kube.get("secrets", bootstrap, "cloud-init-settings");
    const annotations = { ...secret?.metadata.annotations, "ostler.dev/machine-deployment": owner };
    world.kube.put("secrets", { ...secret, metadata: { ...secret?.metadata, name: bootstrap, annotations } });
    await world.run(["release", "--yes", "--unfinished", "--without-temporal"]);
    const isThere = world.kube.get("secrets", bootstrap, "cloud-init-settings") !== undefined;
    assert.equal(isThere, owner !== "fleet/pool", owner);
  }
});

Deno.test("ostler release: stops without a change when the Schedule belongs to another cluster", async () => {
  const world = await ostlersCluster();
  world.temporal.schedules.set("renew-credentials", { cluster: { uid: "uid-of-another" } });
  world.temporal.runs.add("machine-deployment/fleet/pool");
  const dry = await world.run(["release", "--dry-run"]);
  assert.deepEqual([dry.code, /it belongs to another cluster; set this cluster's name with --cluster/.test(dry.out)], [
    1,
    true,
  ]);
  const { code, err } = await world.run(["release", "--yes"]);
  assert.equal(code, 1);
  assert.match(err, /Schedule "renew-credentials": it belongs to another cluster; .* nothing was changed/);
  assert.deepEqual([world.kube.writes, world.temporal.writes], [[], []]);
  assert.deepEqual([...world.temporal.runs], ["machine-deployment/fleet/pool"]);
});

Deno.test("ostler release: stops without a change when the workflow of a pool has another cluster name, and asks for --cluster", async () => {
  const world = await ostlersCluster();
  const rollout = world.kube.get("rollouts", "pool", "fleet");
  const status = { phase: "Converged", workflowId: "b/machine-deployment/fleet/pool" };
  world.kube.put("rollouts", { ...rollout, metadata: { ...usual }, status });
  world.temporal.runs.add("machine-deployment/fleet/pool");
  const { code, err } = await world.run(["release", "--yes"]);
  assert.equal(code, 1);
  assert.match(
    err,
    /the workflow of pool "fleet\/pool" is "b\/machine-deployment.*set the cluster's name with --cluster/,
  );
  assert.deepEqual([world.kube.writes, world.temporal.writes], [[], []]);
});

Deno.test("ostler release: stops before any write when --profile-namespace is not the namespace of the OperatingSystemConfigs", async () => {
  const world = await ostlersCluster();
  const { code, err } = await world.run(["release", "--yes", "--profile-namespace=elsewhere"]);
  assert.equal(code, 1);
  assert.match(
    err,
    /are in namespace "kube-system", not in "elsewhere": give --profile-namespace kube-system/,
  );
  assert.deepEqual(world.kube.writes, []);
  assert.notEqual(world.secret(namesOf(usual).bootstrap), undefined);
});

Deno.test("ostler release: does not terminate the run of a pool whose Rollout names no workflow, because it may be another cluster's run", async () => {
  const world = await ostlersCluster();
  world.kube.put("rollouts", { metadata: { ...usual }, status: { phase: "Converged" } });
  world.temporal.runs.add("machine-deployment/fleet/pool");
  const { code, out } = await world.run(["release", "--yes"]);
  assert.equal(code, 0, out);
  assert.deepEqual([...world.temporal.runs], ["machine-deployment/fleet/pool"]);
});

Deno.test("ostler release: stops when a pool's OperatingSystemConfig is not in the profile namespace, even without Ostler's label", async () => {
  const world = await ostlersCluster();
  const { config } = namesOf(usual);
  const found = world.kube.get("operatingsystemconfigs", config, "kube-system");
  world.kube.remove("operatingsystemconfigs", config, "kube-system");
  world.kube.put("operatingsystemconfigs", { ...found, metadata: { name: config, namespace: "elsewhere" } });
  const { code, err } = await world.run(["release", "--yes"]);
  assert.equal(code, 1);
  assert.match(err, /give --profile-namespace elsewhere/);
  assert.deepEqual(world.kube.writes, []);
});

Deno.test("ostler release: with a management cluster, looks for processes of Ostler in that cluster, and removes the webhook from it", async () => {
  const world = await ostlersCluster();
  const management = new FakeKube();
  world.management = { kube: management, namespace: "kube-system" };
  for (const plural of ["operatingsystemprofiles", "operatingsystemconfigs"]) {
    for (const object of world.kube.all(plural)) management.put(plural, object);
  }
  const name = "kube-system.operatingsystemmanager.k8c.io";
  management.put("validatingwebhookconfigurations", { metadata: { name }, webhooks: [] });
  const labels = { "app.kubernetes.io/name": "ostler" };
  const deployment = { namespace: "north-system", name: "ostler-worker", labels };
  management.put("deployments", { metadata: deployment, spec: { replicas: 1 } });
  const given = ["release", "--yes", "--unrenderable", "--system-namespace", "north-system"];
  assert.match((await world.run(given)).err, /`kubectl -n north-system scale deployment ostler-worker --replicas=0`/);
  management.remove("deployments", "ostler-worker", "north-system");
  const { code, out, err } = await world.run(given);
  assert.equal(code, 0, out + err);
  assert.match(out, new RegExp(`^ValidatingWebhookConfiguration "${name}": removed$`, "m"));
  assert.deepEqual(management.all("validatingwebhookconfigurations"), []);
});

Deno.test("ostler release: works without Temporal when --without-temporal is given", async () => {
  const world = await ostlersCluster();
  world.unreachable = new Unreachable("Failed to reach Temporal");
  const away = await world.run(["release", "--yes"]);
  assert.deepEqual([away.code, world.kube.writes], [4, []]);
  assert.match(away.err, /no pool was released; to skip Temporal, give --without-temporal/);
  const { code, out } = await world.run(["release", "--yes", "--without-temporal"]);
  assert.equal(code, 0, out);
  assert.deepEqual(world.temporal.writes, []);
});

Deno.test("ostler release: removes the configuration of Ostler's webhook, whether it calls a URL or a Service, and ostler adopt keeps it", async () => {
  const url = "https://webhook.example:9443/judge";
  const life = { from: new Date(), until: new Date(Date.now() + 60_000) };
  const { cert } = await makeAuthority({ commonName: "ostler-webhook-authority", ...life });
  const caBundle = Buffer.from(cert).toString("base64");
  for (const clientConfig of [{ url, caBundle }, { service: { name: "our-webhook" } }]) {
    const world = await ostlersCluster();
    const name = "operatingsystemmanager.k8c.io";
    world.kube.put("validatingwebhookconfigurations", { metadata: { name }, webhooks: [{ clientConfig }] });
    const adopted = await world.run(["adopt", "--dry-run", "--remove-leftovers"]);
    assert.doesNotMatch(
      adopted.out,
      /webhookconfigurations/,
      "Expected ostler adopt to keep the webhook of Ostler",
    );
    assert.match(
      (await world.run(["release", "--dry-run"])).out,
      /ValidatingWebhookConfiguration .*: would be removed/,
    );
  }
});

Deno.test("ostler release: reports a webhook with an unknown address, and does not remove it", async () => {
  const world = await ostlersCluster();
  const webhooks = [{ clientConfig: { url: "https://webhook.example:9443/judge", caBundle: "bm9uZQ==" } }];
  world.kube.put("validatingwebhookconfigurations", { metadata: { name: "operatingsystemmanager.k8c.io" }, webhooks });
  const told =
    /cannot determine whether "https:\/\/webhook.example:9443\/judge" is the webhook of Ostler or of Operating System/;
  assert.match((await world.run(["adopt", "--dry-run"])).out, told);
  const { code, out } = await world.run(["release", "--yes"]);
  assert.match(out, told);
  assert.equal(code, 1);
  assert.equal(world.kube.all("validatingwebhookconfigurations").length, 1);
});

Deno.test("ostler release: refuses a pool whose MachineDeployment is invalid or names no profile, and keeps its Secrets even with --unrenderable", async () => {
  const world = await ostlersCluster();
  const { bootstrap } = namesOf(usual);
  const before = machineDeployment();
  for (const spec of [{ replicas: "three" }, { template: { spec: { providerSpec: { value: {} } } } }]) {
    world.kube.put("machinedeployments", { ...before, metadata: { ...before.metadata, annotations: {} }, spec });
    const { code, err } = await world.run(["release", "--yes"]);
    assert.equal(code, 1);
    assert.match(err, /pool "fleet\/pool": .* the MachineDeployment names no profile, or cannot be read/);
  }
  const given = await world.run(["release", "--yes", "--unrenderable", "--unfinished"]);
  assert.equal(given.code, 0, given.out + given.err);
  assert.notEqual(world.secret(bootstrap), undefined);
  // A MachineDeployment that was never managed is not a pool.
  world.kube.put("machinedeployments", { metadata: { namespace: "fleet", name: "foreign" }, spec: {} });
  assert.doesNotMatch((await world.run(["adopt", "--dry-run"])).out, /foreign/);
});

const otherKinds = [
  {
    title: 'NodePool "fleet/edge"',
    rollout: { namespace: "fleet", name: "node-pool.edge" },
    workflowId: "node-pool/fleet/edge",
  },
  {
    title: 'ScalingGroup "workers"',
    rollout: { namespace: "kube-system", name: "scaling-group.workers" },
    workflowId: "scaling-group/workers",
  },
];

for (const { title, rollout, workflowId } of otherKinds) {
  Deno.test(`ostler release: keeps ${title} with its Rollout, and refuses while its rollout is unfinished`, async () => {
    const world = await ostlersCluster();
    const put = (phase: string): void =>
      void world.kube.put("rollouts", { metadata: { ...rollout }, status: { phase, workflowId } });
    put("Rolling");
    world.temporal.runs.add(workflowId);
    const refused = await world.run(["release", "--yes", "--without-temporal"]);
    assert.deepEqual([refused.code, world.kube.writes], [1, []]);
    assert.ok(refused.err.includes(`unfinished rollouts: ${title} (Rolling); wait until`), refused.err);
    put("Converged");
    world.temporal.runs.delete(workflowId);
    const { code, out, err } = await world.run(["release", "--yes"]);
    assert.equal(code, 0, err);
    assert.match(out, /^pools of Ostler: 4 pools given back$/m);
    assert.ok(out.includes(`pools of other kinds: ${title} kept: Operating System Manager does not manage`), out);
    assert.ok(world.kube.get("rollouts", rollout.name, rollout.namespace));
  });

  Deno.test(`ostler release: --unfinished terminates the run of ${title}, and keeps its Rollout`, async () => {
    const world = await ostlersCluster();
    world.kube.put("rollouts", { metadata: { ...rollout }, status: { phase: "Rolling", workflowId } });
    world.temporal.runs.add(workflowId);
    const { code, err } = await world.run(["release", "--yes", "--unfinished"]);
    assert.equal(code, 0, err);
    assert.deepEqual([...world.temporal.runs], []);
    assert.ok(world.kube.get("rollouts", rollout.name, rollout.namespace));
  });

  Deno.test(`ostler release: refuses if the workflow of ${title} has another cluster name`, async () => {
    const world = await ostlersCluster();
    const status = { phase: "Converged", workflowId: `south/${workflowId}` };
    world.kube.put("rollouts", { metadata: { ...rollout }, status });
    const { code, err } = await world.run(["release", "--yes"]);
    assert.equal(code, 1);
    assert.ok(
      err.includes(`is "south/${workflowId}", not "${workflowId}": set the cluster's name with --cluster`),
      err,
    );
  });
}

Deno.test("ostler release: also removes the Schedule that discovers scaling groups, unless the Schedules belong to another cluster", async () => {
  const world = await ostlersCluster();
  const { schedules } = world.temporal;
  schedules.set("discover-scaling-groups", {});
  const dry = await world.run(["release", "--dry-run"]);
  assert.match(dry.out, /^Schedule "discover-scaling-groups": would be removed$/m);
  schedules.set("renew-credentials", { cluster: { uid: "uid-of-another-cluster" } });
  assert.equal((await world.run(["release", "--yes"])).code, 1);
  assert.deepEqual([...schedules.keys()].sort(), ["discover-scaling-groups", "renew-credentials"]);
  schedules.set("renew-credentials", { cluster: { uid: "uid-of-this-cluster" } });
  assert.equal((await world.run(["release", "--yes"])).code, 0);
  assert.deepEqual([...schedules.keys()], []);
});

Deno.test("ostler adopt, release: keep running when the reader of the output exits during the writes; a dry run does not", async () => {
  const world = new HandoverWorld();
  await world.osm.look();
  const writesBefore: number[] = [];
  const seeThrough = (): void => void writesBefore.push(world.kube.writes.length);
  world.kube.writes.length = 0;
  await world.run(["adopt", "--dry-run"], { seeThrough });
  assert.deepEqual(writesBefore, []);
  await world.run(["adopt"], { seeThrough });
  assert.equal(writesBefore[0], 0);
  await world.runOstler();
  writesBefore.length = world.kube.writes.length = 0;
  await world.run(["release", "--dry-run"], { seeThrough });
  assert.deepEqual(writesBefore, []);
  await world.run(["release", "--yes"], { seeThrough });
  assert.equal(writesBefore[0], 0);
});
