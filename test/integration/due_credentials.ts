/** Makes Ostler renew credentials of pools immediately, so that a test need not wait for their renewal time. */
import { namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { World } from "./world.ts";

const namespace = "kube-system";
const lifeMs = 86_400_000;

/**
 * Sets the credentials' renewal time to one second ago and their expiry to tomorrow, and triggers the Schedule that
 * renews them.
 */
export async function renewNow(world: World, pools: readonly string[]): Promise<void> {
  await Promise.all(pools.map((name) => makeDue(world, name)));
  await world.temporal.schedule.getHandle("renew-credentials").trigger();
}

/** Waits until the credentials of the pools are renewed. */
export async function untilRenewed(world: World, pools: readonly string[]): Promise<void> {
  for (const name of pools) {
    await world.until(`the renewal of "${name}"`, async () => {
      const { credentials } = await world.status(name) ?? {};
      return Date.parse(credentials?.renewAt ?? "") > Date.now();
    });
  }
}

async function makeDue(world: World, name: string): Promise<void> {
  const names = namesOf({ namespace, name });
  const [renewAt, expiresAt] = [-1_000, lifeMs].map((ms) => new Date(Date.now() + ms).toISOString());
  const annotations = { "ostler.dev/credentials-renew": renewAt, "ostler.dev/credentials-expire": expiresAt };
  for (const secret of [names.provisioning, names.kubeletBootstrap, names.bootstrap]) {
    await world.patch(`/api/v1/namespaces/${secretsNamespace}/secrets/${secret}`, { metadata: { annotations } });
  }
  const path = `/apis/ostler.dev/v1alpha1/namespaces/${namespace}/rollouts/${name}/status`;
  await world.patch(path, { status: { credentials: { expiresAt, renewAt } } });
}
