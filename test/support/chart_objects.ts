/** The output of the chart, as objects. */
import { fileURLToPath } from "node:url";
import { type ChartOrder, renderChart } from "../../deploy/release/chart/render_chart.ts";
import { parseManifests } from "../../deploy/local/stack/manifests.ts";
import type { ManifestObject } from "../../deploy/local/stack/resource_paths.ts";

/** The pod of a Deployment, with the fields that tests read. */
export interface Pod {
  metadata: { labels: Record<string, string> };
  spec: {
    containers: [{ image: string; env: { name: string; value?: string }[] }];
    volumes: { name: string; secret?: { secretName: string } }[];
  };
}

/** A Deployment, with the fields that tests read. */
export interface Deployment extends ManifestObject {
  spec: { replicas?: number; selector: { matchLabels: Record<string, string> }; template: Pod };
}

/** Values that enable everything in the chart. */
export const everything = fileURLToPath(new URL("chart_with_everything.yaml", import.meta.url));

/** The files of values in the chart for fleets of different sizes. */
export const sizes = ["sizes/small.yaml", "sizes/pools_1000.yaml", "sizes/pools_5000.yaml"] as const;

/** Renders the chart and parses the output. */
export async function chartObjects(order: ChartOrder): Promise<ManifestObject[]> {
  return (await renderChart(order)).flatMap(({ template, text }) => parseManifests(text, template));
}

/** Returns the Deployments among the objects, by name. */
export function deploymentsOf(objects: readonly ManifestObject[]): Record<string, Deployment> {
  const found = objects.filter(({ kind }) => kind === "Deployment") as Deployment[];
  return Object.fromEntries(found.map((each) => [each.metadata.name, each]));
}

/** The Job that prepares Temporal, if the values enable it. */
export function setupJobIn(objects: readonly ManifestObject[]): Deployment | undefined {
  return objects.find(({ kind }) => kind === "Job") as Deployment | undefined;
}

/**
 * Returns the environment variables of the Deployment's container, by name; undefined for one without a plain value.
 */
export function variablesOf({ spec: { template } }: Deployment): Record<string, string | undefined> {
  return Object.fromEntries(template.spec.containers[0].env.map(({ name, value }) => [name, value]));
}
