import { deepEqual, equal, match, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { surveyNodeVersion } from "../../../../activities/backends/scaling_group/version_survey.ts";
import type { Cluster } from "../../../../activities/cluster.ts";
import type { GroupNode } from "../../../../activities/node_version/group_nodes.ts";
import { freshMs, showCertificates } from "../../../../activities/node_version/certificates.ts";
import { type CertificateRecord, recordsIn } from "../../../../activities/status/certificate_record.ts";
import { NodeVersion } from "../../../../activities/kube/update_kinds.ts";
import { type ReadServed, readServed, type Served } from "../../../../activities/x509/served_certificate.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answer, FakeKube } from "../../../support/fake_kube.ts";
import { GroupInMemory } from "../../../support/group_in_memory.ts";
import { useServed } from "../../../support/staged_cluster.ts";
import { selfSigned, withTls } from "../../../support/tls_server.ts";

const dayMs = 24 * 3_600_000;
const now = Date.parse("2026-06-01T00:00:00Z");
const long = { from: now - 10 * dayMs, until: now + 355 * dayMs };
const short = { from: now - 300 * dayMs, until: now + 65 * dayMs };

type Status = { conditions: Record<string, string>[]; certificates?: CertificateRecord[] };

/**
 * An API server with a NodeVersion and control planes; `certificate` returns the certificate that each of their servers
 * shows.
 */
class Planes {
  readonly kube = new FakeKube();
  readonly cluster: Cluster = this.kube.client;
  readonly asked: string[] = [];
  certificate: (server: string) => Served = () => long;
  nodes: GroupNode[];

  constructor(count = 1) {
    this.kube.put("nodeversions", { metadata: { name: "v" }, spec: {}, status: { conditions: [ready] } });
    this.nodes = Array.from({ length: count }, (_, nth) => node(`cp-${nth + 1}`, [`192.0.2.${nth + 1}`]));
    useServed(this.cluster, this.#served());
  }

  #served(): ReadServed {
    return ({ host, port }) => {
      this.asked.push(`${host} ${port}`);
      return Promise.resolve(this.certificate(`${host} ${port}`));
    };
  }

  /** Returns the same cluster as a restarted worker process sees it. */
  restarted(): Cluster {
    const cluster = this.kube.client;
    useServed(cluster, this.#served());
    return cluster;
  }

  secret(texts: Record<string, string>): void {
    const data = Object.fromEntries(
      Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
    );
    this.kube.put("secrets", { metadata: { namespace: "kube-system", name: "ostler-etcd" }, data });
  }

  async show({ at = now, cluster = this.cluster, runId = "r" } = {}): Promise<Status> {
    const version = NodeVersion.parse(this.kube.get("nodeversions", "v"));
    await inActivity(() => showCertificates(cluster, version, { controlPlanes: this.nodes, now: at }), { runId });
    return this.status;
  }

  get status(): Status {
    return this.kube.get("nodeversions", "v")?.["status"] as Status;
  }

  get told(): Record<string, string> | undefined {
    return this.status.conditions.find(({ type }) => type === "CertificatesValid");
  }

  get events(): string[] {
    return this.kube.all("events").map((event) => `${event["type"]} ${event["reason"]}`);
  }
}

const ready = {
  type: "Ready",
  status: "True",
  reason: "UpToDate",
  message: "m",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

function node(name: string, addresses: string[], createdAt = now - dayMs): GroupNode {
  return { name, addresses, createdAt, isControlPlane: true } as GroupNode;
}

Deno.test("showCertificates: shows API server, etcd and kubelet of real servers, and keeps other conditions", async () => {
  const planes = new Planes();
  const { cert, key } = await selfSigned({ from: new Date(short.from), until: new Date(short.until) });
  const other = await selfSigned({ from: new Date(long.from), until: new Date(long.until) });
  await withTls({ cert, key }, async ({ port: soon }) => {
    await withTls(other, async ({ port: late }) => {
      useServed(planes.cluster, ({ port }) => readServed({ host: "127.0.0.1", port: port === 2379 ? soon : late }));
      await planes.show();
    });
  });
  deepEqual(planes.status.certificates?.map(({ component, of, at, expiresAt }) => [component, of, at, expiresAt]), [
    ["Etcd", "cp-1", "192.0.2.1:2379", "2026-08-05T00:00:00.000Z"],
    ["Kubelet", "cp-1", "192.0.2.1:10250", "2027-05-22T00:00:00.000Z"],
    ["APIServer", "cp-1", "192.0.2.1:6443", "2027-05-22T00:00:00.000Z"],
  ]);
  deepEqual(planes.status.conditions[0], ready);
  deepEqual([planes.told?.["status"], planes.told?.["reason"]], ["False", "CertificateExpiresSoon"]);
  equal(planes.told?.["message"], 'Certificates expire soon: etcd of "cp-1" at 2026-08-05T00:00:00.000Z');
  deepEqual(planes.events, ["Warning CertificateExpiresSoon"]);
});

Deno.test("showCertificates: reads each server once an hour, also when it is called more often, and after a restart of the worker", async () => {
  const planes = new Planes(3);
  await planes.show();
  equal(planes.asked.length, 9);
  for (const at of [now + 1, now + freshMs / 2, now + freshMs - 1]) {
    await planes.show({ at });
    await planes.show({ at, cluster: planes.restarted() });
  }
  equal(planes.asked.length, 9);
  const writes = planes.kube.writes.length;
  await planes.show({ at: now + freshMs });
  deepEqual([planes.asked.length, planes.kube.writes.length], [18, writes + 1]);
});

Deno.test("showCertificates: does not read the servers again when the last write of the status failed", async () => {
  const planes = new Planes();
  planes.kube.onRequest = (request) => {
    if (request === "patch nodeversions v") throw answer(409, "Conflict");
  };
  for (const at of [now, now + 1_000, now + 2_000]) await planes.show({ at });
  deepEqual([planes.asked.length, planes.told, planes.events], [3, undefined, []]);
  planes.kube.onRequest = () => {};
  await planes.show({ at: now + 3_000 });
  deepEqual([planes.asked.length, planes.told?.["reason"]], [3, "CertificatesValid"]);
});

Deno.test("showCertificates: writes and sends nothing while nothing changes", async () => {
  const planes = new Planes();
  planes.secret({ "tls.crt": (await selfSigned(dates(long))).cert, "ca.crt": (await selfSigned(dates(long))).cert });
  await planes.show();
  const { writes } = planes.kube;
  const before = writes.length;
  for (const at of [now + 60_000, now + 120_000]) await planes.show({ at, cluster: planes.restarted() });
  deepEqual(writes.slice(before), []);
});

Deno.test("showCertificates: the condition is Unknown while a server does not respond, and each change of its reason sends one Event", async () => {
  const planes = new Planes(2);
  await planes.show();
  deepEqual([planes.told?.["reason"], planes.events], ["CertificatesValid", []]);
  planes.certificate = (server) => server === "192.0.2.2 6443" ? { unknown: "no TLS handshake within 3 s" } : long;
  const away = now + freshMs;
  await planes.show({ at: away });
  deepEqual([planes.told?.["status"], planes.told?.["reason"]], ["Unknown", "CertificateUnknown"]);
  const message = 'Cannot determine when certificates expire: API server of node "cp-2": no TLS handshake within 3 s';
  equal(planes.told?.["message"], message);
  await planes.show({ at: away + 1_000, runId: "another run" });
  planes.certificate = () => long;
  await planes.show({ at: away + freshMs });
  equal(planes.told?.["status"], "True");
  deepEqual(planes.events, ["Normal CertificateUnknown", "Normal CertificatesValid"]);
});

Deno.test("showCertificates: warns before the expiry without another handshake, and reports an expired certificate only after another read", async () => {
  const planes = new Planes();
  planes.certificate = () => ({ from: now - 89 * 60_000, until: now + 60 * 60_000 });
  await planes.show();
  equal(planes.told?.["reason"], "CertificatesValid");
  await planes.show({ at: now + 20 * 60_000 });
  deepEqual([planes.told?.["reason"], planes.asked.length], ["CertificateExpiresSoon", 3]);
  await planes.show({ at: now + freshMs });
  deepEqual([planes.told?.["reason"], planes.asked.length], ["CertificateExpired", 6]);
  const since = planes.told?.["lastTransitionTime"];
  await planes.show({ at: now + 2 * freshMs });
  equal(planes.told?.["lastTransitionTime"], since);
  deepEqual(planes.events, ["Warning CertificateExpiresSoon", "Warning CertificateExpired"]);
});

Deno.test("showCertificates: reads 25 of a hundred control planes in each call, and shows all of them after four calls", async () => {
  const planes = new Planes(100);
  const counts: number[] = [];
  for (let nth = 0; nth < 6; nth++) {
    await planes.show({ at: now + nth * 1_000 });
    counts.push(planes.asked.length);
  }
  deepEqual(counts, [75, 150, 225, 300, 300, 300]);
  equal(planes.status.certificates?.length, 300);
  // The next call reads those servers whose certificates were read first.
  planes.asked.length = 0;
  const before = new Set(
    planes.status.certificates?.slice(0, 300).filter(({ readAt }) => Date.parse(readAt) === now)
      .map(({ at }) => at.replace(":", " ")),
  );
  await planes.show({ at: now + freshMs + 10_000 });
  deepEqual(new Set(planes.asked), before);
});

Deno.test("showCertificates: does not connect to a Node whose InternalIP is missing or is not an IP address", async () => {
  const planes = new Planes();
  planes.nodes = [
    node("a", []),
    node("b", ["evil.example", "fe80::1%eth0", "192.0.2.9:22/x"]),
    node("c", ["x", "2001:db8::1"]),
  ];
  await planes.show();
  deepEqual(planes.asked, ["2001:db8::1 6443", "2001:db8::1 2379", "2001:db8::1 10250"]);
  const unknown = planes.status.certificates?.filter(({ unknown }) =>
    unknown === "its Node does not have an InternalIP"
  );
  deepEqual(unknown?.map(({ of }) => of).sort(), ["a", "a", "a", "b", "b", "b"]);
  ok(planes.status.certificates?.some(({ at }) => at === "[2001:db8::1]:6443"));
});

Deno.test("showCertificates: reads a new Node only after the time in which its API server and etcd start", async () => {
  const planes = new Planes();
  planes.nodes = [node("new", ["192.0.2.7"], now)];
  await planes.show();
  deepEqual([planes.asked, planes.told], [[], undefined]);
  await planes.show({ at: now + 600_000 });
  equal(planes.asked.length, 3);
});

Deno.test("showCertificates: reports Unknown for a certificate that is not valid yet", async () => {
  const planes = new Planes();
  planes.certificate = () => ({ from: now + dayMs, until: now + 2 * dayMs });
  await planes.show();
  match(planes.told?.["message"] ?? "", /: the certificate is not valid before 2026-06-02T00:00:00\.000Z/);
});

Deno.test("showCertificates: removes the records of a deleted Node, and the condition with the last control plane", async () => {
  const planes = new Planes(2);
  await planes.show();
  planes.nodes = planes.nodes.slice(0, 1);
  equal((await planes.show()).certificates?.length, 3);
  planes.nodes = [];
  const { conditions, certificates } = await planes.show();
  deepEqual([conditions, certificates], [[ready], undefined]);
});

Deno.test("showCertificates: reads the servers for each cluster anew when two clusters have the same names and addresses", async () => {
  const [north, south] = [new Planes(), new Planes()];
  south.certificate = () => short;
  await Promise.all([north.show(), south.show()]);
  deepEqual([north.asked.length, south.asked.length], [3, 3]);
  deepEqual([north.told?.["reason"], south.told?.["reason"]], ["CertificatesValid", "CertificateExpiresSoon"]);
});

Deno.test("showCertificates: sends no request when there are no control planes", async () => {
  const planes = new Planes(0);
  const requests: string[] = [];
  planes.kube.onRequest = (request) => void requests.push(request);
  await planes.show();
  deepEqual(requests, []);
});

function dates({ from, until }: { from: number; until: number }): { from: Date; until: Date } {
  return { from: new Date(from), until: new Date(until) };
}

Deno.test("showCertificates: shows Ostler's own certificate for etcd and its authorities, and nothing of the key", async () => {
  const planes = new Planes();
  const own = await selfSigned(dates(short));
  const authorities = await Promise.all([selfSigned(dates(long)), selfSigned(dates(long))]);
  const ca = authorities.map(({ cert }) => cert).join("\n");
  planes.secret({ "tls.crt": own.cert, "tls.key": own.key, "ca.crt": ca });
  await planes.show();
  const records = planes.status.certificates?.filter(({ of }) => of === "kube-system/ostler-etcd");
  deepEqual(records?.map(({ component, at, expiresAt }) => [component, at, expiresAt]), [
    ["EtcdClient", "tls.crt", "2026-08-05T00:00:00.000Z"],
    ["Authority", "ca.crt", "2027-05-22T00:00:00.000Z"],
    ["Authority", "ca.crt #2", "2027-05-22T00:00:00.000Z"],
  ]);
  match(planes.told?.["message"] ?? "", /: client certificate for etcd in Secret "kube-system\/ostler-etcd" at 2026/);
  const key = own.key.split("\n")[2] ?? "?";
  ok(!JSON.stringify([planes.status, planes.kube.all("events")]).includes(key));
});

Deno.test("showCertificates: reads an etcd outside of the control planes at the endpoints of the Secret", async () => {
  const planes = new Planes();
  const { cert } = await selfSigned(dates(long));
  const endpoints = "https://e1.example:2379,https://[2001:db8::2]:4001,nonsense,https://e1.example:2379";
  planes.secret({ "tls.crt": cert, "ca.crt": cert, endpoints });
  await planes.show();
  deepEqual(planes.asked.sort(), ["192.0.2.1 10250", "192.0.2.1 6443", "2001:db8::2 4001", "e1.example 2379"]);
});

const broken: [what: string, befall: (planes: Planes) => void, why: RegExp][] = [
  ["has no certificates", (planes) => planes.secret({ "tls.crt": "sesame" }), /does not have a PEM certificate/],
  [
    "is too large",
    (planes) => planes.secret({ "tls.crt": "x".repeat(100_001) }),
    /does not have a PEM certificate/,
  ],
  ["is forbidden to read", (planes) => {
    planes.kube.onRequest = (request) => {
      if (request.startsWith("get secrets")) throw answer(403, "Forbidden");
    };
  }, /Ostler is not allowed to read the Secret/],
];

for (const [what, befall, why] of broken) {
  Deno.test(`showCertificates: reports Unknown when the Secret for etcd ${what}, and quotes nothing of the Secret`, async () => {
    const planes = new Planes();
    befall(planes);
    await planes.show();
    match(planes.told?.["message"] ?? "", why);
    ok(!JSON.stringify(planes.status).includes("sesame"));
  });
}

Deno.test("surveyNodeVersion: shows the certificates of the control planes in its groups, and of no other node", async () => {
  const stage = new GroupInMemory({ role: "ControlPlane" });
  const asked: string[] = [];
  useServed(stage.client, ({ host, port }) => {
    asked.push(`${host} ${port}`);
    return Promise.resolve({ from: Date.now() - dayMs, until: Date.now() + 300 * dayMs });
  });
  const labels = { "node-role.kubernetes.io/control-plane": "" };
  const creationTimestamp = "2026-01-01T00:00:00Z";
  for (const [nth, { metadata, ...stored }] of stage.kube.all("nodes").entries()) {
    const annotations = {
      ...metadata.annotations,
      "constellation.edgeless.systems/scaling-group-id": "projects/p/groups/workers",
    };
    const addresses = [{ type: "InternalIP", address: `192.0.2.${nth + 1}` }];
    const own = nth === 0 ? { labels } : {};
    stage.kube.put("nodes", {
      ...stored,
      metadata: { ...metadata, annotations, creationTimestamp, ...own },
      status: { addresses },
    });
  }
  stage.kube.put("nodes", { metadata: { name: "foreign", labels, creationTimestamp }, spec: {}, status: {} });
  const { state } = await inActivity(() => surveyNodeVersion(stage.client, { object: { name: "v" } }));
  equal(state, "Present");
  deepEqual(asked, ["192.0.2.1 6443", "192.0.2.1 2379", "192.0.2.1 10250"]);
  const status = stage.kube.get("nodeversions", "v")?.["status"] as Record<string, unknown>;
  equal(recordsIn(status).length, 3);
});
