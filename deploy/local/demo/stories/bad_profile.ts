import { firstRelease, type Manifest, pool, poolPath } from "../pool_objects.ts";
import { checkGoneBack } from "./gone_back.ts";
import { livingOf, newcomers } from "./machine_groups.ts";
import type { Story, StoryScene } from "./story.ts";

const missing = "no-such-agent";
const profileName = "pool-profile";
const group = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system";

/** Returns a profile that extends osp-ubuntu with packages. */
function profile(version: string, packages: string[]): Manifest {
  return {
    apiVersion: "operatingsystemmanager.k8c.io/v1alpha1",
    kind: "OperatingSystemProfile",
    metadata: { name: profileName, namespace: "kube-system" },
    spec: {
      osName: "ubuntu",
      osVersion: "24.04",
      version,
      extends: { name: "osp-ubuntu" },
      provisioningConfig: { packages },
    },
  };
}

/** A profile installs a package that does not exist; the pool is rolled back to the previous config. */
export const badProfile: Story = {
  title:
    "A profile installs a package that does not exist: the first machine with it fails, and the previous config is restored",
  replicas: 2,
  surge: 1,
  profile: profile("v1.0.0", ["chrony"]),
  script: { bootSeconds: { min: 0.3, max: 0.8 }, missingPackages: [missing] },
  policy: {
    onProfileChange: "Roll",
    onFailure: "Rollback",
    join: { instance: "20s", address: "20s", registered: "20s", ready: "20s", attempts: 0 },
  },
  async tell(scene: StoryScene): Promise<void> {
    const before = livingOf(scene.observer.report().lives);
    scene.narrator.say(`  profile "${profileName}" v1.0.1 installs package "${missing}"`);
    await scene.cluster.patch(`${group}/operatingsystemprofiles/${profileName}`, {
      spec: profile("v1.0.1", ["chrony", missing]).spec,
    });
    await checkFailure(scene, before);
    await checkGoneBack(scene, { before, bad: firstRelease });
    await scaleUp(scene, before);
  },
};

async function checkFailure({ cluster, checks, site }: StoryScene, before: readonly string[]): Promise<void> {
  const verdict = await cluster.until("the failure of the first machine", async () => {
    const events = await cluster.list<{ message: string }>(
      `/api/v1/namespaces/${pool.namespace}/events?fieldSelector=involvedObject.name=${pool.name}`,
    );
    return events.find(({ message }) => message.includes(missing))?.message;
  });
  checks.add({ name: "an Event quotes the error of the machine's boot script", ok: true, detail: verdict });
  const failed = site.cloud.machines().filter(({ phase, name }) => phase === "failed" && !before.includes(name));
  checks.equal("machines created with the bad profile", { seen: failed.length, wanted: 1 });
}

async function scaleUp(scene: StoryScene, before: readonly string[]): Promise<void> {
  const { cluster, checks, observer, narrator, rollout } = scene;
  narrator.say("  the pool is scaled up: its next machine boots with the last good config");
  const known = newcomers(observer.report().lives, []).map(({ name }) => name);
  await cluster.patch(poolPath, { spec: { replicas: before.length + 1 } });
  const name = await cluster.until("an additional machine", async () => {
    const living = livingOf(observer.report().lives);
    return await Promise.resolve(living.find((each) => !known.includes(each)));
  });
  checks.add({ name: "a new machine boots with the last good config", ok: true, detail: `${name} is Ready` });
  await rollout.until("three machines", ({ updated }) => updated === `${before.length + 1}/${before.length + 1}`);
  const config = await cluster.get(`${group}/operatingsystemconfigs/${pool.name}-${pool.namespace}-config`);
  checks.equal("the published config has the missing package", {
    seen: JSON.stringify(config).includes(missing),
    wanted: false,
  });
}
