import { setTimeout as pause } from "node:timers/promises";
import type { DockerApi } from "./docker_api.ts";
import { isDead, kernelProc, readOwner } from "./owner.ts";

/** Label with the id of a run (of a demo or a test); everything with this label is removed when the run ends. */
export const machineLabel = "dev.ostler.machine";
/** Label with the process that owns the run. */
export const ownerLabel = "dev.ostler.owner";

interface Labelled {
  readonly Labels: Readonly<Record<string, string>> | null;
}

/** Maximum number of checks whether containers are gone, and the pause after each. */
export interface Looks {
  readonly most: number;
  readonly pauseMs: number;
}

const defaultLooks: Looks = { most: 40, pauseMs: 500 };

/** Removes the run's containers with their anonymous volumes, then its networks and volumes. */
export async function sweepRun(api: DockerApi, runId: string, looks = defaultLooks): Promise<void> {
  const filter = `${machineLabel}=${runId}`;
  // Checks at least twice, and until no container is left: a container whose creation was in progress when its owner
  // died can appear after the first check, and removal by another process takes time.
  for (let look = 1; look <= looks.most; look++) {
    const containers = await listContainers(api, filter);
    if (containers.length === 0 && look > 1) break;
    await Promise.all(containers.map(({ Id }) => removeContainer(api, Id)));
    await pause(looks.pauseMs);
  }
  const networks = await api.get<{ Id: string }[]>(`/networks?${labelFilter(filter)}`);
  for (const { Id } of networks) await api.delete(`/networks/${Id}`);
  const volumes = await listVolumes(api, filter);
  for (const { Name } of volumes) await api.delete(`/volumes/${encodeURIComponent(Name)}`);
}

/** Removes the objects of every run whose owner has ended; returns the ids of these runs. */
export async function sweepDeadRuns(api: DockerApi, proc = kernelProc): Promise<string[]> {
  const [containers, networks, volumes] = await Promise.all([
    listContainers(api, machineLabel),
    api.get<Labelled[]>(`/networks?${labelFilter(machineLabel)}`),
    listVolumes(api, machineLabel),
  ]);
  const owners = new Map([...containers, ...networks, ...volumes].map(({ Labels }) => [
    Labels?.[machineLabel] ?? "",
    Labels?.[ownerLabel] ?? "",
  ]));
  const dead: string[] = [];
  for (const [runId, text] of owners) {
    const owner = readOwner(text);
    // Objects without a readable owner are kept.
    if (owner !== undefined && await isDead(owner, proc)) dead.push(runId);
  }
  for (const runId of dead) await sweepRun(api, runId);
  return dead;
}

/** Removes all containers, networks and volumes of an engine that only Ostler uses; keeps its images. */
export async function sweepEverything(api: DockerApi): Promise<void> {
  const containers = await api.get<{ Id: string }[]>("/containers/json?all=1");
  await Promise.all(containers.map(({ Id }) => removeContainer(api, Id)));
  await api.post("/networks/prune");
  const { Volumes } = await api.get<{ Volumes: { Name: string }[] | null }>("/volumes");
  for (const { Name } of Volumes ?? []) await api.delete(`/volumes/${encodeURIComponent(Name)}?force=1`);
}

async function removeContainer(api: DockerApi, id: string): Promise<void> {
  await api.delete(`/containers/${id}?force=1&v=1`).catch((error: unknown) => {
    // Another process already removes the container.
    if (!/already in progress/.test(String(error))) throw error;
  });
}

async function listContainers(api: DockerApi, label: string): Promise<(Labelled & { Id: string })[]> {
  return await api.get(`/containers/json?all=1&${labelFilter(label)}`);
}

async function listVolumes(api: DockerApi, label: string): Promise<(Labelled & { Name: string })[]> {
  const { Volumes } = await api.get<{ Volumes: (Labelled & { Name: string })[] | null }>(
    `/volumes?${labelFilter(label)}`,
  );
  return Volumes ?? [];
}

function labelFilter(label: string): string {
  return `filters=${encodeURIComponent(JSON.stringify({ label: [label] }))}`;
}
