/** `ostler clusters`: shows all clusters in one namespace of Temporal, from Temporal alone. */
import type { ConnectOptions, World } from "../connect/world.ts";
import { styled, type Terminal } from "../terminal.ts";
import { counted } from "../../workflows/policy/counted.ts";
import { duration } from "../view/durations.ts";
import { asData, type Format } from "../view/output.ts";
import { plainTable } from "../view/plain_table.ts";
import { type ClusterView, type Fleet, readFleet } from "./cluster_view.ts";
import { fromTemporal } from "./from_temporal.ts";
import type { Version } from "./pollers.ts";
import { nameOf, remediesOf, standingOf } from "./remedies.ts";

export interface ClustersFlags extends ConnectOptions {
  output: Format;
  /** Whether to return exit code 1 if a cluster needs action. */
  check?: boolean;
}

/**
 * Prints one line per cluster, and the required actions below. Returns exit code 1 if `check` is set and a cluster
 * needs action, else 0.
 */
export async function showClusters(terminal: Terminal, world: World, flags: ClustersFlags): Promise<number> {
  const fleet = await fromTemporal(world, (server) => readFleet(server, world.now));
  const now = world.now();
  const needs = fleet.clusters.map((view) => remediesOf(view, fleet.clusters, now));
  const items = fleet.clusters.map((view, index) => clusterData(view, needs[index] ?? [], now));
  const data = asData(flags.output, { items, openRollouts: fleet.total });
  if (data !== undefined) terminal.out(data);
  else showTable(terminal, fleet, { needs, now, isWide: flags.output === "wide" });
  return flags.check && needs.some((own) => own.length > 0) ? 1 : 0;
}

interface Shown {
  needs: string[][];
  now: number;
  isWide: boolean;
}

function showTable(terminal: Terminal, { clusters }: Fleet, { needs, now, isWide }: Shown): void {
  if (clusters.length === 0) {
    return terminal.err(
      "Nothing to show: no cluster has a Schedule or an open rollout in this namespace of Temporal\n",
    );
  }
  const head = ["CLUSTER", "UID", "WORKERS", "VERSION", "ROLLOUTS", "OLDEST HALT", "RENEWED", "SCHEDULE"];
  terminal.out(plainTable(clusters.map((view) => lineOf(terminal, view, { now, isWide })), head));
  const told = clusters.flatMap(({ cluster }, index) =>
    (needs[index] ?? []).map((need) => `${nameOf(cluster)}: ${need}\n`)
  );
  if (told.length > 0) terminal.out(`\n${told.join("")}`);
  const unheard = clusters.reduce((sum, view) => sum + view.unheard, 0);
  if (unheard > 0) {
    terminal.err(`${counted(unheard, "open rollout")} did not report progress: only the phase is shown\n`);
  }
}

function lineOf(terminal: Terminal, view: ClusterView, { now, isWide }: Omit<Shown, "needs">): string[] {
  const place = "value" in view.place ? view.place.value : undefined;
  const uid = place?.uid ?? "";
  const renewed = place?.renewals?.lastAt;
  const standing = standingOf(place?.renewals, now);
  return [
    view.cluster === "" ? "(no name)" : view.cluster,
    place === undefined ? "?" : (isWide ? uid : uid.slice(0, 8)) || "unknown",
    ...workersText(terminal, view, now),
    rolloutsText(terminal, view),
    view.oldestHalt === undefined ? "" : duration((now - view.oldestHalt) / 1000),
    renewed === undefined ? "" : `${duration((now - renewed) / 1000)} ago`,
    place === undefined ? "?" : standing === "Runs" ? standing : styled(terminal, "yellow", standing),
  ];
}

function workersText(terminal: Terminal, { polling }: ClusterView, now: number): [string, string] {
  if ("why" in polling) return ["?", "?"];
  const { workers, lastAt, versions } = polling.value;
  const since = lastAt === undefined ? "" : ` for ${duration((now - lastAt) / 1000)}`;
  const text = workers === 0 ? styled(terminal, "red", `none${since}`) : String(workers);
  return [text, versions.map((each) => versionText(each, versions.length)).join(", ")];
}

function versionText({ buildId, workers, isCurrent }: Version, of: number): string {
  const name = buildId === "" ? "unversioned" : buildId;
  return of === 1 ? name : `${name} (${isCurrent ? "current, " : ""}${workers})`;
}

function rolloutsText(terminal: Terminal, { rollouts }: ClusterView): string {
  if ("why" in rollouts) return "?";
  const parts = Object.entries(rollouts.value).sort(([one], [other]) => one.localeCompare(other)).map(
    ([state, count]) => {
      const text = `${count} ${state}`;
      return state === "Halted" ? styled(terminal, "red", text) : text;
    },
  );
  return parts.join(", ") || "none";
}

/** Returns a cluster as data; missing facts are null, and `needs` has the reason. */
function clusterData(view: ClusterView, needs: string[], now: number): object {
  const place = "value" in view.place ? view.place.value : undefined;
  const polling = "value" in view.polling ? view.polling.value : undefined;
  const renewals = place?.renewals;
  return {
    name: view.cluster,
    uid: place?.uid ?? null,
    taskQueue: place?.taskQueue ?? null,
    workers: polling?.workers ?? null,
    versions: polling?.versions ?? null,
    lastPollAt: isoOf(polling?.lastAt),
    rollouts: "value" in view.rollouts ? view.rollouts.value : null,
    rolloutsUnheard: view.unheard,
    oldestHaltAt: isoOf(view.oldestHalt),
    credentials: place && {
      scheduleId: renewals?.scheduleId ?? null,
      schedule: standingOf(renewals, now),
      renewedAt: isoOf(renewals?.lastAt),
      nextAt: isoOf(renewals?.nextAt),
    },
    needs,
  };
}

function isoOf(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
