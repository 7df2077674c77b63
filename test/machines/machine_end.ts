/** The deletion of a pool, and the end of its machine. */
import assert from "node:assert/strict";
import { getContainerRuntimeClient } from "testcontainers";
import { ordersPath } from "../../deploy/local/cloud/hypervisor.ts";
import { poolPath, secretPath } from "../integration/pool_objects.ts";
import type { Booted } from "./boot_pools.ts";
import { asMachine } from "./boot_identity.ts";
import { machineToken, namesIn } from "./published_boot.ts";

/** Deletes the pool; expects VirtualMachine, container, disk and node to be deleted, and the token to be refused. */
export async function checkEnd(booted: Booted): Promise<void> {
  const { world, pool, name, machine } = booted;
  const token = await machineToken(world, pool);
  assert.equal((await container(machine.id))?.State.Running, true);
  const volumes = await volumesOf(machine.id);
  assert.ok(volumes.length > 0, "Expected the machine to have a disk before");
  await world.remove(poolPath(pool));
  await world.until("the order to go", async () => await world.get(`${ordersPath}/${name}`) === undefined, 180);
  await world.until("the container to go", async () => await container(machine.id) === undefined);
  await world.until("the node to go", async () => await world.get(`/api/v1/nodes/${name}`) === undefined);
  await world.until("the pool to go", async () => await world.get(poolPath(pool)) === undefined);
  for (const volume of volumes) {
    await world.until(`volume "${volume}" to go`, async () => !await isVolume(volume));
  }
  const { provisioning } = namesIn(pool);
  // The API server notices a deleted ServiceAccount a moment later.
  await world.until("the token to be refused", async () => {
    return (await asMachine(booted, { method: "GET", path: secretPath(provisioning), token })).status === 401;
  });
}

interface Inspection {
  State: { Running: boolean };
  Mounts: { Type: string; Name?: string | undefined }[];
}

async function container(id: string): Promise<Inspection | undefined> {
  const client = await getContainerRuntimeClient();
  return await orNothing(client.container.getById(id).inspect());
}

async function volumesOf(id: string): Promise<string[]> {
  const mounts = (await container(id))?.Mounts ?? [];
  return mounts.filter(({ Type }) => Type === "volume").map(({ Name = "" }) => Name);
}

async function isVolume(name: string): Promise<boolean> {
  const { container: { dockerode } } = await getContainerRuntimeClient();
  return await orNothing(dockerode.getVolume(name).inspect()) !== undefined;
}

// Returns undefined if the engine answers 404, because it does not have the container or volume.
async function orNothing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return undefined;
    throw error;
  }
}
