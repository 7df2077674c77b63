import { deepEqual, equal } from "node:assert/strict";
import type { CertificateRecord } from "../../../../activities/status/certificate_record.ts";
import { setVersionGauges, type VersionStatus } from "../../../../workers/metrics/node_version_gauges.ts";
import { createMetrics } from "../../../../workers/metrics/registry.ts";
import { Lead } from "../../../../workers/metrics/serving_gauges.ts";

const now = Date.parse("2026-01-01T12:00:00Z");
const readAt = "2026-01-01T11:30:00.000Z";

async function valuesOf(records: CertificateRecord[] | undefined): Promise<string[]> {
  const metrics = await createMetrics("controller");
  setVersionGauges(metrics, [withRecords([etcd("before", "2027-01-01T00:00:00Z")])], now);
  setVersionGauges(metrics, records && [withRecords(records)], now);
  const { text } = await metrics.scrape();
  return text.split("\n").filter((line) => line.startsWith("ostler_certificate") && !line.endsWith("} 0"));
}

function withRecords(certificates: CertificateRecord[]): VersionStatus {
  return { name: "v", conditions: [], certificates };
}

function etcd(of: string, expiresAt?: string): CertificateRecord {
  const place = { component: "Etcd", of, at: `${of}:2379`, readAt } as const;
  return expiresAt === undefined ? { ...place, unknown: "away" } : { ...place, expiresAt, soonAt: expiresAt };
}

Deno.test("certificate gauges: count certificates by component and state, and report the time until the first one expires", async () => {
  const kubelet = {
    ...etcd("cp-1", "2026-01-01T13:00:00Z"),
    component: "Kubelet",
    soonAt: "2026-01-01T00:00:00Z",
  } as const;
  const records = [etcd("cp-1", "2026-01-01T11:00:00Z"), etcd("cp-2", "2026-02-01T12:00:00Z"), etcd("cp-3"), kubelet];
  deepEqual(await valuesOf(records), [
    'ostler_certificates{component="Etcd",state="Expired"} 1',
    'ostler_certificates{component="Etcd",state="Unknown"} 1',
    'ostler_certificates{component="Etcd",state="Valid"} 1',
    'ostler_certificates{component="Kubelet",state="ExpiresSoon"} 1',
    'ostler_certificate_life_left_seconds{component="Etcd"} -3600',
    'ostler_certificate_life_left_seconds{component="Kubelet"} 3600',
  ]);
});

Deno.test("certificate gauges: have the same few series for any number of control planes and names", async () => {
  const many = Array.from(
    { length: 400 },
    (_, nth) => etcd(`cp-${nth}-${crypto.randomUUID()}`, "2027-01-01T00:00:00Z"),
  );
  equal((await valuesOf(many)).length, 2);
});

Deno.test("certificate gauges: export nothing without control planes, or without leadership", async () => {
  deepEqual([await valuesOf([]), await valuesOf(undefined)], [[], []]);
});

Deno.test("NodeVersion gauges: have one series for each condition that Ostler sets, and none for its previous reason", async () => {
  const metrics = await createMetrics("controller");
  const version = (reason: string, nth = 0): VersionStatus => {
    const told = [["Ready", "UpgradingKubernetes"], ["KubernetesUpgraded", reason], [
      "Outdated",
      "NodeVersionsOutOfDate",
    ]];
    return {
      ...withRecords([]),
      name: `v-${nth}`,
      conditions: told.map(([type = "", reason = ""]) => ({ type, reason })),
    };
  };
  setVersionGauges(metrics, [version("Upgrading")], now);
  setVersionGauges(metrics, [version("UpgradeHalted")], now);
  const lines = async (): Promise<string[]> =>
    (await metrics.scrape()).text.split("\n").filter((line) => line.startsWith("ostler_node_version_info"));
  deepEqual(await lines(), [
    'ostler_node_version_info{name="v-0",condition="Ready",reason="UpgradingKubernetes"} 1',
    'ostler_node_version_info{name="v-0",condition="KubernetesUpgraded",reason="UpgradeHalted"} 1',
  ]);
  setVersionGauges(metrics, Array.from({ length: 1000 }, (_, nth) => version("UpToDate", nth)), now);
  equal((await lines()).length, 200);
  setVersionGauges(metrics, undefined, now);
  deepEqual(await lines(), []);
});

Deno.test("Lead: exports certificate gauges only while the process leads", async () => {
  const metrics = await createMetrics("controller");
  const lead = new Lead(metrics);
  const lines = async (): Promise<number> =>
    (await metrics.scrape()).text.split("\n").filter((line) => line.startsWith("ostler_certificates{")).length;
  await lead.during({ numbers: () => [] }, async () => {
    equal(await lines(), 0);
    lead.versions(() => [withRecords([etcd("cp-1", "2027-01-01T00:00:00Z")])]);
    equal(await lines(), 4);
  });
  equal(await lines(), 0);
});
