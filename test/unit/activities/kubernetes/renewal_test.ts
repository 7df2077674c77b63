/** Renewals of the certificates of control planes, with an API server, TLS servers and an etcd in memory. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { awaitCertificatesRenewed } from "../../../../activities/kubernetes/healthy.ts";
import {
  ensureCertificatesRead,
  ensureRenewalReported,
  surveyRenewal,
} from "../../../../activities/kubernetes/renewal.ts";
import { holderOfRenewal, holderOfUpgrade } from "../../../../activities/pool/upgraded_nodes.ts";
import { ensureSlotTaken } from "../../../../activities/pool/slots.ts";
import { type CertificateRecord, recordsIn } from "../../../../activities/status/certificate_record.ts";
import { isHeldBack } from "../../../../activities/status/renewal_setting.ts";
import type { Served } from "../../../../activities/x509/served_certificate.ts";
import type { RenewalSurvey, Unseen } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answer } from "../../../support/fake_kube.ts";
import { useServed } from "../../../support/staged_cluster.ts";
import { current, UpgradeStage } from "../../../support/upgrade_stage.ts";

type Present = Extract<RenewalSurvey, { state: "Present" }>;

const dayMs = 24 * 3_600_000;
const fresh = { from: Date.now() - dayMs, until: Date.now() + 364 * dayMs };
const old = { from: Date.now() - 300 * dayMs, until: Date.now() + 65 * dayMs };
const [node, uid] = ["workers-1", "uid-of-workers-1"];
const mark = "1764200000";
const parts = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"];

/**
 * A cluster whose servers all show certificates in the last third of their lifetime; Ostler's records in the status of
 * the NodeVersion contain the same.
 */
class Scene extends UpgradeStage {
  readonly shown = new Map<string, Served>();
  readonly asked: string[] = [];

  constructor() {
    super();
    useServed(this.client, ({ host, port }) => {
      this.asked.push(`${host}:${port}`);
      return Promise.resolve(this.shown.get(`${host}:${port}`) ?? old);
    });
    const records = this.hosts().flatMap(([of, host]) => [
      record("APIServer", of, `${host}:6443`),
      record("Etcd", of, `${host}:2379`),
    ]);
    this.status({ certificates: records });
  }

  /** Names and addresses of the control planes. */
  hosts(): [string, string][] {
    return this.cloud.instances().map(({ node: name, addresses: [address = ""] }) => [name, address]);
  }

  at(port: number, of = node): string {
    return `${this.hosts().find(([name]) => name === of)?.[1]}:${port}`;
  }

  status(change: object): void {
    const version = this.kube.get("nodeversions", "v");
    Object.assign(version ?? {}, { status: { conditions: [], ...(version?.["status"] as object), ...change } });
  }

  records(): CertificateRecord[] {
    return recordsIn(this.kube.get("nodeversions", "v")?.["status"] as Record<string, unknown>);
  }

  reader(hasHands = true): Parameters<typeof surveyRenewal>[0] {
    return { kube: this.client, profileNamespace: "profiles", hasHands };
  }

  async look(hasHands = true): Promise<Present> {
    const seen = await surveyRenewal(this.reader(hasHands), { object: this.object });
    if (seen.state === "Gone") throw new Error("Failed to survey: the NodeVersion is gone");
    return seen;
  }

  /** Brings a control plane into the state after a renewal: its files are new, and all its pods have restarted. */
  renews(of = node): void {
    for (const part of parts) this.part(of, part, current, { renewed: mark });
    for (const port of [6443, 2379]) this.shown.set(this.at(port, of), fresh);
  }

  wait(until = Date.now()): Promise<{ isHealthy: boolean; evidence: string } | Unseen> {
    const question = { object: this.object, node, uid, until };
    return inActivity(() => awaitCertificatesRenewed(this.client, question));
  }

  read(more: { node?: string; uid?: string } = {}): Promise<void> {
    return inActivity(() => ensureCertificatesRead(this.client, { object: this.object, node, uid, ...more }));
  }
}

function record(component: CertificateRecord["component"], of: string, at: string): CertificateRecord {
  const time = (ms: number): string => new Date(ms).toISOString();
  const soonAt = old.until - (old.until - old.from) / 3;
  return { component, of, at, readAt: time(Date.now()), expiresAt: time(old.until), soonAt: time(soonAt) };
}

async function dueOf(scene: Scene): Promise<string[]> {
  return (await scene.look()).controlPlanes.filter(({ due }) => due !== "").map((each) => each.node);
}

Deno.test("surveyRenewal: returns each control plane with a certificate in the last third of its lifetime", async () => {
  const scene = new Scene();
  const seen = await scene.look();
  match(seen.controlPlanes[0]?.due ?? "", /^(API server of node|etcd of) "workers-1", which expires at 20/);
  deepEqual(await dueOf(scene), ["workers-1", "workers-2", "workers-3"]);
  const { controlPlanes: _, ...rest } = seen;
  deepEqual(rest, {
    state: "Present",
    generation: rest.generation,
    cluster: current,
    setting: "",
    told: "",
    trouble: null,
  });
});

Deno.test("surveyRenewal: ignores certificates of kubelets, of an etcd outside the control planes, and of servers that could not be read", async () => {
  const scene = new Scene();
  const expired = record("Kubelet", "workers-2", scene.at(10250, "workers-2"));
  const elsewhere = record("Etcd", "workers-3", "workers-3:2379");
  const lost = { ...record("APIServer", "workers-2", scene.at(6443, "workers-2")), unknown: "no handshake" };
  delete lost.expiresAt;
  scene.status({ certificates: [record("Etcd", node, scene.at(2379)), expired, elsewhere, lost] });
  deepEqual(await dueOf(scene), [node]);
});

Deno.test("surveyRenewal: treats a control plane as under way when the renewal has a slot for it, and not when an upgrade has one", async () => {
  const scene = new Scene();
  const keeper = { kube: scene.client, profileNamespace: "profiles" };
  const order = { machine: "workers-2", limit: 2, of: "ControlPlanes", until: Date.now() + dayMs } as const;
  await ensureSlotTaken(keeper, { ...order, pool: holderOfUpgrade(scene.object) });
  const underWay = async (): Promise<string[]> =>
    (await scene.look()).controlPlanes.filter(({ isUnderWay }) => isUnderWay).map((each) => each.node);
  deepEqual(await underWay(), []);
  await ensureSlotTaken(keeper, { ...order, machine: "workers-3", pool: holderOfRenewal(scene.object) });
  deepEqual(await underWay(), ["workers-3"]);
});

Deno.test("surveyRenewal: reports what prevents a renewal, the value of the renew-certificates annotation, and that the NodeVersion was deleted", async () => {
  const scene = new Scene();
  equal((await scene.look(false)).trouble?.reason, "HandsMissing");
  scene.configMap("kubeadm-config", {});
  const { reason, message } = (await scene.look()).trouble ?? {};
  equal(reason, "NotKubeadm");
  match(message ?? "", /^Cannot renew certificates of control planes that kubeadm did not create/);
  const { metadata } = scene.kube.get("nodeversions", "v") ?? {};
  Object.assign(metadata ?? {}, { annotations: { "ostler.dev/renew-certificates": "Off" } });
  equal((await scene.look()).setting, "Off");
  Object.assign(metadata ?? {}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
  deepEqual(await surveyRenewal(scene.reader(), { object: scene.object }), { state: "Gone" });
});

Deno.test("ensureCertificatesRead: reads all certificates of one control plane immediately, although the records are recent", async () => {
  const scene = new Scene();
  const group = { "constellation.edgeless.systems/scaling-group-id": "projects/p/groups/workers" };
  for (const { metadata, ...stored } of scene.kube.all("nodes")) {
    const annotations = { ...metadata.annotations, ...group };
    scene.kube.put("nodes", { ...stored, metadata: { ...metadata, creationTimestamp: "2026-01-01", annotations } });
  }
  scene.renews();
  for (const time of [1, 2]) {
    scene.asked.length = 0;
    await scene.read();
    const own = [scene.at(10250), scene.at(2379), scene.at(6443)];
    deepEqual(own.filter((at) => !scene.asked.includes(at)), [], `time ${time}`);
  }
  const of = scene.records().filter(({ component }) => component !== "Kubelet");
  deepEqual(of.map((each) => [each.of, each.component, (each.soonAt ?? "") > new Date().toISOString()]).sort(), [
    ...[["workers-1", "APIServer", true], ["workers-1", "Etcd", true]],
    ...[["workers-2", "APIServer", false], ["workers-2", "Etcd", false]],
    ...[["workers-3", "APIServer", false], ["workers-3", "Etcd", false]],
  ]);
  deepEqual(await dueOf(scene), ["workers-2", "workers-3"]);
});

Deno.test("ensureCertificatesRead: fails with a retryable error after a conflict, and as MachineGone when another node has the name", async () => {
  const scene = new Scene();
  scene.renews();
  await rejects(scene.read({ uid: "other" }), { type: "MachineGone" });
  scene.kube.onRequest = (request) => {
    if (request.startsWith("patch nodeversions")) throw answer(409, "Conflict");
  };
  await rejects(scene.read(), { type: "ApiUnavailable", nonRetryable: false });
});

Deno.test("awaitCertificatesRenewed: succeeds when all pods restarted and the servers show the new certificates", async () => {
  const scene = new Scene();
  scene.renews();
  const seen = await scene.wait();
  deepEqual(seen, {
    isHealthy: true,
    evidence: 'The static pods of node "workers-1" use certificates that do not expire soon',
  });
  deepEqual(scene.kube.writes, []);
});

const faults: [what: string, text: RegExp, change: (scene: Scene) => void][] = [
  ["a server with its old certificate", /^the certificate of etcd of "workers-1" still expires at/, (scene) => {
    scene.shown.delete(scene.at(2379));
  }],
  ["a server that does not answer", /^cannot read the certificate of API server of node "workers-1": away/, (scene) => {
    scene.shown.set(scene.at(6443), { unknown: "away" });
  }],
  ["a pod that did not restart", /^scheduler did not restart with its new certificates$/, (scene) => {
    scene.part(node, "kube-scheduler", current);
  }],
  ["a pod that restarted for an earlier renewal", /^etcd did not restart with its new certificates$/, (scene) => {
    scene.part(node, "etcd", current, { renewed: "1700000000" });
  }],
  ["a missing pod", /^scheduler runs an unknown version$/, (scene) => {
    scene.kube.remove("pods", `kube-scheduler-${node}`, "kube-system");
  }],
  ["a pod that is not Ready", /^API server is not Ready$/, (scene) => {
    scene.part(node, "kube-apiserver", current, { renewed: mark, isReady: false });
  }],
  [
    "an etcd member that does not respond",
    /^member "workers-1" does not respond/,
    (scene) => scene.etcd.silent("m-workers-1"),
  ],
];

for (const [what, text, change] of faults) {
  Deno.test(`awaitCertificatesRenewed: reports ${what} at the deadline`, async () => {
    const scene = new Scene();
    scene.renews();
    change(scene);
    const seen = await scene.wait();
    ok("isHealthy" in seen && !seen.isHealthy);
    match(seen.evidence, text);
  });
}

Deno.test("awaitCertificatesRenewed: succeeds on a node without etcd, and ignores a server that could not be read before the renewal either", async () => {
  const scene = new Scene();
  scene.renews();
  scene.kube.remove("pods", `etcd-${node}`, "kube-system");
  const unread = { ...record("Etcd", node, scene.at(2379)), unknown: "no handshake" };
  scene.status({ certificates: [record("APIServer", node, scene.at(6443)), unread] });
  scene.shown.set(scene.at(2379), { unknown: "no handshake" });
  ok(JSON.stringify(await scene.wait()).includes('"isHealthy":true'));
});

Deno.test("ensureRenewalReported: writes a condition, sends an Event for each new reason, and keeps the certificate records in the status", async () => {
  const scene = new Scene();
  const report = (reason: string): Promise<void> =>
    inActivity(() =>
      ensureRenewalReported(scene.client, { object: scene.object, standing: { reason, message: `m of ${reason}` } })
    );
  for (const reason of ["Renewing", "Renewing", "RenewalHalted", "CertificatesRenewed"]) await report(reason);
  const conditions = (): Record<string, string>[] =>
    (scene.kube.get("nodeversions", "v")?.["status"] as { conditions: Record<string, string>[] }).conditions;
  deepEqual(conditions().map(({ type, status, reason }) => [type, status, reason]), [
    ["CertificatesRenewed", "True", "CertificatesRenewed"],
  ]);
  deepEqual(scene.kube.all("events").map((event) => `${event["type"]} ${event["reason"]}`), [
    ...["Normal Renewing", "Warning RenewalHalted", "Normal CertificatesRenewed"],
  ]);
  equal(scene.records().length, 6);
  equal((await scene.look()).told, "CertificatesRenewed");
  await report("RenewalCancelled");
  match(
    conditions()[0]?.["message"] ?? "",
    /^m of RenewalCancelled; to allow the renewal again, set annotation ostler\.dev/,
  );
  ok(isHeldBack(scene.kube.get("nodeversions", "v") as never));
});
