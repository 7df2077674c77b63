import { deepEqual } from "node:assert/strict";
import { renewCertificates, tellNodeVersions } from "../../../workers/controller.ts";
import type { CertificateComponent, CertificateRecord } from "../../../activities/status/certificate_record.ts";
import { eventually } from "../../support/eventually.ts";
import { WatchedApi } from "../../support/watched_api.ts";

type Written = Parameters<WatchedApi["put"]>[1];

const path = "/apis/update.edgeless.systems/v1alpha1/nodeversions";
const dayMs = 24 * 3_600_000;

interface Version {
  generation?: number;
  setting?: string;
  certificates?: CertificateRecord[];
  cancelledRenewal?: object;
}

function written(name: string, { generation = 1, setting, certificates = [], ...cancelled }: Version): Written {
  const annotations = setting === undefined ? {} : { "ostler.dev/renew-certificates": setting };
  const metadata = { name, uid: name, generation, annotations, creationTimestamp: new Date().toISOString() };
  return { metadata, spec: {}, status: { conditions: [], certificates, ...cancelled } } as Written;
}

/** A certificate that expires in 60 days; in `soonIn` milliseconds from now, it begins to count as expiring soon. */
function record(
  soonIn: number,
  component: CertificateComponent = "APIServer",
  at = "192.0.2.1:6443",
): CertificateRecord {
  const time = (ms: number): string => new Date(Date.now() + ms).toISOString();
  return { component, of: "cp-1", at, readAt: time(0), expiresAt: time(60 * dayMs), soonAt: time(soonIn) };
}

const cancelled = { cancelledRenewal: { generation: 1, setting: "" } };
const due = [record(-dayMs)];

const cases: [what: string, isTold: boolean, version: Version][] = [
  ["an API server's certificate in its last third", true, { certificates: due }],
  ["etcd's certificate in its last third", true, { certificates: [record(-1, "Etcd", "192.0.2.1:2379")] }],
  ["a valid certificate", false, { certificates: [record(dayMs)] }],
  ["a kubelet's certificate", false, { certificates: [record(-1, "Kubelet", "192.0.2.1:10250")] }],
  ["the Secret's certificate", false, { certificates: [record(-1, "EtcdClient", "tls.crt")] }],
  ["the certificate of an external etcd", false, { certificates: [record(-1, "Etcd", "cp-1:2379")] }],
  ["no certificates", false, {}],
  ["renewals turned off", false, { certificates: due, setting: "Off" }],
  ["a cancelled renewal", false, { certificates: due, ...cancelled }],
  ["a cancelled renewal and a changed setting", true, { certificates: due, ...cancelled, setting: "again" }],
  ["a cancelled renewal and another generation", true, { certificates: due, ...cancelled, generation: 2 }],
];

/** Runs tellNodeVersions until `story` ends; `told` gets the name of each NodeVersion whose renewal is signalled. */
async function telling(story: (server: WatchedApi, told: string[]) => Promise<void>): Promise<void> {
  await using server = await WatchedApi.start();
  const stop = new AbortController();
  const told: string[] = [];
  const running = tellNodeVersions({
    ...{ kube: server.kube, log: { warn: () => {} }, every: { lookEvery: 100, retellAfter: 60_000 } },
    tell: () => Promise.resolve(),
    renew: (name) => Promise.resolve(void told.push(name)),
  }, stop.signal);
  try {
    await story(server, told);
  } finally {
    stop.abort();
    await running;
  }
}

Deno.test("tellNodeVersions: signals a renewal when certificates of kubeadm expire soon, unless a person turned it off or cancelled it", async () => {
  await telling(async (server, told) => {
    for (const [nth, [, , version]] of cases.entries()) server.put(path, written(`v${nth}`, version));
    const wanted = cases.flatMap(([what, isTold], nth) => isTold ? [`v${nth} ${what}`] : []);
    await eventually("all signals", () => told.length >= wanted.length);
    await new Promise((resolve) => setTimeout(resolve, 400));
    deepEqual(told.sort().map((name) => `${name} ${cases[Number(name.slice(1))]?.[0]}`), wanted.sort());
  });
});

Deno.test("tellNodeVersions: signals a renewal once, and again when a person changes its setting", async () => {
  await telling(async (server, told) => {
    server.put(path, written("v", { certificates: due }));
    await eventually("the first signal", () => told.length === 1 && server.watches(path) === 1);
    server.put(path, written("v", { certificates: [...due, record(-1, "Etcd", "192.0.2.1:2379")] }));
    server.put(path, written("v", { certificates: due, setting: "again" }));
    await eventually("the second signal", () => told.length === 2);
    server.put(path, written("v", { certificates: [record(dayMs)], setting: "once more" }));
    await new Promise((resolve) => setTimeout(resolve, 400));
    deepEqual(told, ["v", "v"]);
  });
});

Deno.test("renewCertificates: starts one run for each NodeVersion of each cluster", async () => {
  const started: unknown[] = [];
  const client = {
    workflow: {
      signalWithStart: (type: string, { workflowId, args, taskQueue, signal }: Record<string, unknown>) =>
        Promise.resolve(void started.push([type, workflowId, args, taskQueue, signal])),
    },
  };
  for (const cluster of ["", "east"]) {
    await renewCertificates(client as never, { cluster, taskQueue: `queue ${cluster}` } as never, "v");
  }
  deepEqual(started, [
    ["renewCertificates", "renew-certificates/v", [{ name: "v" }], "queue ", "nodeVersionChanged"],
    [
      ...["renewCertificates", "east/renew-certificates/v", [{ cluster: "east", name: "v" }], "queue east"],
      "nodeVersionChanged",
    ],
  ]);
});
