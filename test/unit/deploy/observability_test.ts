/**
 * Tests that docs/how-to/observe.md, alerts and dashboards agree with the metrics that processes export;
 * `GOLDEN=update` rewrites the page's table of metrics.
 */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { loadYaml } from "@kubernetes/client-node";
import { createMetrics } from "../../../workers/metrics/registry.ts";
import { type Measured, type Metric, metrics } from "../../../workers/metrics/table.ts";
import { type Place, readDashboards } from "../../support/dashboards.ts";
import { metricsIn } from "../../support/named_metrics.ts";

interface Rules {
  groups: { rules: { alert: string; expr: string; annotations: { runbook_url: string; summary: string } }[] }[];
}

const page = new URL("../../../docs/how-to/observe.md", import.meta.url);
const alertsFile = new URL("../../../deploy/chart/monitoring/alerts.yaml", import.meta.url);

const template = new URL("../../../deploy/chart/templates/monitoring.yaml", import.meta.url);

const text = await readFile(page, "utf8");
const dashboards = await readDashboards();
const alerts = (loadYaml(await readFile(alertsFile, "utf8")) as Rules).groups.flatMap(({ rules }) => rules);

function table(): string {
  const rows = Object.entries<Metric>(metrics).map(([name, { type, labels = [], of, help }]) =>
    `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${of.join(", ")} | ${help} |\n`
  );
  return `| metric | type | labels | of | meaning |\n| --- | --- | --- | --- | --- |\n${rows.join("")}`;
}

Deno.test("docs/how-to/observe.md: lists every metric with its exact type, labels, processes and help text", async () => {
  const wanted = text.replace(/\| metric \| type [^]*?\n(?=\n)/, () => table());
  if (process.env["GOLDEN"] === "update") await writeFile(page, wanted);
  equal(await readFile(page, "utf8"), wanted);
  ok(wanted.includes(table()));
});

Deno.test("metrics: each process exports exactly the metrics that docs/how-to/observe.md lists", async () => {
  for (const kind of ["controller", "worker", "webhook"] as Measured[]) {
    const { text } = await (await createMetrics(kind)).scrape();
    const exported = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`);
    const told = Object.entries<Metric>(metrics).filter(([, { of }]) => of.includes(kind));
    deepEqual(exported.sort(), told.map(([name, { type }]) => `${name} ${type}`).sort());
  }
});

Deno.test("alerts and dashboards: name only metrics that Ostler exports, as does docs/how-to/observe.md", () => {
  const shown = dashboards.flatMap(({ panels }) => panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)));
  const named = [text, ...shown, ...alerts.map(({ expr }) => expr)].flatMap(metricsIn);
  ok(named.length > 60);
  deepEqual(named.filter((name) => !(name in metrics)), []);
});

Deno.test("alerts: each one has exactly one runbook in docs/how-to/observe.md", () => {
  const sections = [...text.matchAll(/^### (\S+)$/gm)].map(([, name = ""]) => name);
  deepEqual(alerts.map(({ alert }) => alert), sections);
  for (const { alert, annotations } of alerts) {
    equal(annotations.runbook_url, `docs/how-to/observe.md#${alert.toLowerCase()}`);
  }
});

Deno.test("chart: puts the prefix of alerts.runbooks before each runbook", async () => {
  const [, from = "", to = ""] =
    /replace "([^"]*)" \(printf "([^"]*)" \.runbooks\)/.exec(await readFile(template, "utf8")) ??
      [];
  const file = (await readFile(alertsFile, "utf8")).replaceAll(from, to.replace("%s", "https://git.example/"));
  const links = [...file.matchAll(/runbook_url: (\S+)/g)].map(([, link = ""]) => link);
  equal(links.length, alerts.length);
  deepEqual(links.filter((link) => !link.startsWith("https://git.example/docs/how-to/observe.md#")), []);
});

Deno.test("chart: the ServiceMonitor keeps the labels of metrics that Prometheus Operator sets to those of the pod", async () => {
  // By default, Prometheus keeps the label of the pod, and renames that of the metric to `exported_…`.
  const ofPods = ["namespace", "pod", "container", "service", "endpoint", "job", "instance"];
  const both = Object.values<Metric>(metrics).flatMap(({ labels = [] }) =>
    labels.filter((label) => ofPods.includes(label))
  );
  deepEqual([...new Set(both)], ["namespace"]);
  match(await readFile(template, "utf8"), /- \{ port: metrics, .*honorLabels: true \}/);
});

Deno.test("alerts: OstlerRolloutBlocked and its runbook have each reason that blocks a rollout without halting it", async () => {
  const source = await readFile(new URL("../../../workflows/policy/turn.ts", import.meta.url), "utf8");
  const [blocked = ""] = /interface Blocked \{[^}]*/.exec(source) ?? [];
  const reasons = [...blocked.matchAll(/^ +\| "(\w+)"/gm)].map(([, reason = ""]) => reason);
  // Requested by a person, part of the plan, or with an alert of their own.
  const others = [
    "Paused",
    "Soaking",
    "AwaitingApproval",
    "OnlySkippedRemain",
    "SetAside",
    "PolicyConflict",
    "Quarantined",
  ];
  const { expr = "" } = alerts.find(({ alert }) => alert === "OstlerRolloutBlocked") ?? {};
  const [runbook = ""] = /### OstlerRolloutBlocked[^#]*/.exec(text) ?? [];
  ok(reasons.length > 10);
  const wanted = reasons.filter((reason) => !others.includes(reason));
  deepEqual(wanted.filter((reason) => !expr.includes(reason) || !runbook.includes(`\`${reason}\``)), []);
});

Deno.test("metrics: each one is on a dashboard or in an alert", () => {
  const looked = metricsIn(JSON.stringify([dashboards, alerts]));
  deepEqual(Object.keys(metrics).filter((name) => name.startsWith("ostler_") && !looked.includes(name)), []);
});

Deno.test("dashboards: exist for machines, processes and rollouts, and their panels have unique titles and do not overlap", () => {
  deepEqual(dashboards.map(({ uid }) => uid).sort(), ["ostler-machines", "ostler-processes", "ostler-rollouts"]);
  for (const { title, panels } of dashboards) {
    equal(new Set(panels.map(({ id }) => id)).size, panels.length, title);
    equal(new Set(panels.map((panel) => panel.title)).size, panels.length, title);
    for (const [at, panel] of panels.entries()) {
      const over = panels.slice(0, at).filter((other) => overlaps(panel.gridPos, other.gridPos));
      deepEqual([panel.gridPos.x + panel.gridPos.w <= 24, over], [true, []], `${title}: ${panel.title}`);
      ok(panel.description.length > 0 && panel.targets.length > 0);
    }
  }
});

function overlaps(one: Place, other: Place): boolean {
  const aside = one.x + one.w <= other.x || other.x + other.w <= one.x;
  return !aside && one.y < other.y + other.h && other.y < one.y + one.h;
}
