/** Metrics and alerts, validated with Prometheus' own tool, from Debian's package prometheus. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { loadYaml } from "@kubernetes/client-node";
import type { ManifestObject } from "../../deploy/local/stack/resource_paths.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { measureProcess, requestsTold } from "../../workers/metrics/process_measures.ts";
import { setVersionGauges } from "../../workers/metrics/node_version_gauges.ts";
import { createMetrics, type Metrics } from "../../workers/metrics/registry.ts";
import { setRolloutGauges } from "../../workers/metrics/rollout_gauges.ts";
import { stepMeasures } from "../../workers/metrics/step_measures.ts";
import { chartObjects, everything } from "../support/chart_objects.ts";
import { readDashboards } from "../support/dashboards.ts";
import { lackOf, runTool } from "./judges/run_tool.ts";

const alerts = fileURLToPath(new URL("../../deploy/chart/monitoring/alerts.yaml", import.meta.url));
const played = fileURLToPath(new URL("alerts_fire.yaml", import.meta.url));
const lack = await lackOf("promtool", "prometheus");
const skipped = lack === undefined ? "" : ` (skipped: ${lack})`;

function judged(name: string, test: () => Promise<void>): void {
  Deno.test({ name: `${name}${skipped}`, ignore: lack !== undefined, fn: test });
}

const pool = { namespace: "fleet", name: "workers" };

async function controller(): Promise<Metrics> {
  const metrics = await createMetrics("controller");
  const times = { issuedAt: 0, renewAt: 1, expiresAt: 2 };
  const machines = { desired: 3, updated: 2, ready: 2, failed: 1, steps: ["Joining"] };
  const blocked = { reason: "PodsRemaining", since: 0 };
  const place = { namespace: "fleet", name: "workers", reason: "PodsRemaining" };
  const numbers = {
    ...place,
    phase: "Rolling",
    paused: false,
    quarantined: true,
    blocked,
    credentials: times,
    ...machines,
  };
  setRolloutGauges(metrics, [numbers], 1_000);
  const certificate = { component: "Etcd", of: "cp-1", at: "192.0.2.1:2379", readAt: "2026-01-01T00:00:00Z" } as const;
  const conditions = [{ type: "Ready", reason: "Rolling" }];
  const certificates = [{ ...certificate, expiresAt: "2027-01-01T00:00:00Z" }];
  setVersionGauges(metrics, [{ name: "v", conditions, certificates }], 1_000);
  metrics.set("ostler_leader", 1);
  metrics.add("ostler_rollout_signals_total", { outcome: "told" });
  metrics.add("ostler_notices_total", { kind: "Halted", outcome: "sent" });
  return metrics;
}

async function worker(): Promise<Metrics> {
  const metrics = await createMetrics("worker");
  const measures = stepMeasures(metrics);
  measures.failed("publishConfig", "ApiUnavailable");
  measures.published(0.3, "Published");
  measures.joined(90, { pool, image: 'docker://img:1"\n' });
  measures.drained(5, { pool, image: "" });
  measures.underWay({}, ["registered"]);
  return metrics;
}

async function webhook(): Promise<Metrics> {
  const metrics = await createMetrics("webhook");
  metrics.add("ostler_admission_reviews_total", { path: "/operatingsystemprofile", verdict: "denied" });
  metrics.observe("ostler_admission_duration_seconds", 0.01, { path: "/operatingsystemprofile" });
  return metrics;
}

for (const [kind, make] of Object.entries({ controller, worker, webhook })) {
  judged(`promtool has nothing against the metrics of the ${kind}`, async () => {
    const metrics = await make();
    measureProcess(metrics, { kind: kind as "controller", version: "1.2.3" });
    requestsTold(metrics)?.({ verb: "get", resource: "nodes", code: 200, seconds: 0.1 });
    const { text } = await metrics.scrape();
    ok(text.length > 3_000);
    deepEqual(await runTool("promtool", ["check", "metrics"], text), { code: 0, stdout: "", stderr: "" });
  });
}

judged("promtool: reports a metric that breaks a convention", async () => {
  const { code, stderr } = await runTool(
    "promtool",
    ["check", "metrics"],
    "# TYPE ostler_joins counter\nostler_joins 1\n",
  );
  equal(code, 3);
  match(stderr, /_total/);
});

judged("promtool: accepts every alert", async () => {
  const { code, stdout, stderr } = await runTool("promtool", ["check", "rules", "--lint-fatal", alerts]);
  equal(code, 0, stderr);
  match(stdout, /SUCCESS: \d\d rules found/);
});

judged("promtool: accepts every expression of the dashboards", async () => {
  const expressions = (await readDashboards()).flatMap(({ panels }) => panels.flatMap(({ targets }) => targets));
  ok(expressions.length > 35);
  const rules = expressions.map(({ expr }, nth) => {
    // Replaces Grafana's variables by values, as Grafana does before it sends a query.
    return { record: `panel:${nth}`, expr: expr.replaceAll("$__rate_interval", "5m").replaceAll("$pool", ".*") };
  });
  const file = await Deno.makeTempFile({ suffix: ".json" });
  try {
    await Deno.writeTextFile(file, JSON.stringify({ groups: [{ name: "panels", rules }] }));
    const { code, stdout, stderr } = await runTool("promtool", ["check", "rules", file]);
    equal(code, 0, stderr);
    match(stdout, new RegExp(`${rules.length} rules found`));
  } finally {
    await Deno.remove(file);
  }
});

judged("alerts: fire when they should, and not in a healthy fleet", async () => {
  const { code, stdout, stderr } = await runTool("promtool", ["test", "rules", played]);
  equal(code, 0, `${stdout}${stderr}`);
});

Deno.test("chart: has the dashboards unchanged, where Grafana's sidecar finds them", async () => {
  const { helm } = await resolveTools(["helm"]);
  const objects = await chartObjects({ helm, set: ["dashboards.enabled=true"] });
  const maps = objects.filter(({ metadata }) => metadata.name.startsWith("ostler-dashboard-"));
  const brought = maps.flatMap((map) => Object.values((map as unknown as { data: Record<string, string> }).data));
  deepEqual(brought.map((text) => JSON.parse(text)), await readDashboards());
  const labels = maps.map(({ metadata }) => (metadata as { labels?: unknown }).labels);
  deepEqual(labels, maps.map(() => ({ grafana_dashboard: "1" })));
});

Deno.test("chart: has the alerts unchanged, with valid links", async () => {
  const { helm } = await resolveTools(["helm"]);
  const objects = await chartObjects({ helm, values: [everything] });
  const rule = objects.find(({ kind }) => kind === "PrometheusRule") as ManifestObject & { spec: unknown };
  const wanted = (await readFile(alerts, "utf8")).replaceAll(
    "runbook_url: docs/",
    "runbook_url: https://git.example/ostler/blob/main/docs/",
  );
  match(wanted, /runbook_url: https:/);
  deepEqual(rule.spec, loadYaml(wanted));
});
