import { deepEqual, ok } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accessSecret, EtcdOnNodes } from "../../../../activities/etcd/etcd_on_nodes.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answering, type FakeEtcd, type Reply, withFakeEtcd } from "../../../support/fake_etcd.ts";
import { FakeKube } from "../../../support/fake_kube.ts";

const header = { cluster_id: "1", member_id: "7" };
const member = { ID: "7", name: "cp-1", peerURLs: ["https://127.0.0.1:2380"], clientURLs: [] };
const status = { header, version: "3.6.8", leader: "7", raftTerm: "2", raftIndex: "9", raftAppliedIndex: "9" };
const others = answering({
  "cluster/member/list": { header, members: [member] },
  "maintenance/status": { ...status, dbSize: "64" },
  "maintenance/alarm": { header },
});

/** Answers like a healthy member; each snapshot has other bytes. */
const healthy: Reply = (asked, response, request) => {
  if (!asked.startsWith("/v3/maintenance/snapshot ")) return others(asked, response, request);
  const bytes = randomBytes(64);
  const blobs = [bytes, createHash("sha256").update(bytes).digest()].map((each) => each.toString("base64"));
  response.end(blobs.map((blob) => `${JSON.stringify({ result: { blob } })}\n`).join(""));
};

/** Returns the etcd at the endpoint, which the Secret names together with the client certificate. */
function etcdAt({ endpoint, access: { credentials: { ca, cert, key } } }: FakeEtcd): EtcdOnNodes {
  const texts = { "ca.crt": ca, "tls.crt": cert, "tls.key": key, endpoints: endpoint };
  const data = Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString("base64")]),
  );
  const kube = new FakeKube();
  kube.put("secrets", { metadata: accessSecret, data });
  return new EtcdOnNodes(kube.client, []);
}

Deno.test("EtcdOnNodes: a snapshot replaces only that of the same machine and time, however long the name of the ScalingGroup is", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ostler-snapshots-"));
  try {
    await withFakeEtcd(healthy, async (fake) => {
      const etcd = etcdAt(fake);
      const keep = async (group: string, machine: number, time: string): Promise<string> => {
        const name = `scaling-group.${group}-${group}-new-${machine}-2026-11-28T${time}.000Z`;
        const order = { beside: "", name, keep: { keep: "Folder", folder } as const };
        return (await inActivity(() => etcd.keepSnapshot(order))).at;
      };
      for (const group of ["control", "g".repeat(84), "g".repeat(253)]) {
        const first = await keep(group, 1, "04:00:00");
        ok(first.endsWith("-2026-11-28T04-00-00.000Z.db"), first);
        const again = await keep(group, 1, "04:00:00");
        const distinct = [await keep(group, 1, "04:10:00"), await keep(group, 2, "04:00:00")];
        deepEqual([again, new Set([first, ...distinct]).size], [first, 3], group);
      }
      deepEqual((await readdir(folder)).length, 9);
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
