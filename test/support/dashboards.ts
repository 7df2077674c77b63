/** Grafana's dashboards of deploy/chart, with the fields that tests read. */
import { readdir, readFile } from "node:fs/promises";

/** Position and size of a panel, on a grid of 24 columns. */
export interface Place {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Dashboard {
  uid: string;
  title: string;
  panels: { id: number; title: string; description: string; gridPos: Place; targets: { expr: string }[] }[];
}

const folder = new URL("../../deploy/chart/monitoring/dashboards/", import.meta.url);

/** All dashboards. */
export async function readDashboards(): Promise<Dashboard[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".json")).sort();
  return await Promise.all(files.map(async (file) => JSON.parse(await readFile(new URL(file, folder), "utf8"))));
}
