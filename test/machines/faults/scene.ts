/** A site whose machines fail to join for different reasons; they boot concurrently unless a fault affects them all. */
import type { ContainerHost } from "../../../deploy/local/machines/container_host.ts";
import { CertificateAuthority } from "../../../deploy/local/stack/certificate_authority.ts";
import { poolPath } from "../../integration/pool_objects.ts";
import { SecretCollector } from "../../integration/secrecy.ts";
import type { World } from "../../integration/world.ts";
import { expireToken } from "./expired_token.ts";
import { FaultView } from "./fault_view.ts";
import { nonsenseSignal, order, prepareFaults, withPackages } from "./faulty_pools.ts";

export interface Scene {
  world: World;
  host: ContainerHost;
  /** An authority that is unknown to the cluster. */
  stranger: CertificateAuthority;
  secrets: SecretCollector;
}

/** The machines that fail from the start. */
export type Faulty = Record<"cutOff" | "wrongCa" | "expired" | "badKubelet" | "noPackage" | "fullDisk", FaultView>;

const tinyDiskBytes = 30_000_000;

export async function openScene(world: World, host: ContainerHost): Promise<Scene> {
  const stranger = await CertificateAuthority.create("stranger");
  await prepareFaults(world, (await stranger.keyed()).certificatePem);
  return { world, host, stranger, secrets: new SecretCollector(world) };
}

/** Orders a machine whose profile requires a package that does not exist. */
export async function orderWithoutPackage(scene: Scene): Promise<void> {
  await order(scene, {
    ...{ name: "no-package", profile: "osp-no-package", isStrict: true },
    annotations: withPackages(scene.host),
  });
}

/** Orders one machine with each fault; resolves when all are switched on. */
export async function orderFaulty(scene: Scene): Promise<Faulty> {
  const { world, host } = scene;
  const view = (pool: string): Promise<FaultView> => FaultView.of({ world, host, pool });
  await order(scene, { name: "expired", replicas: 0, isStrict: true });
  await order(scene, { name: "cut-off", isStrict: false });
  const cutOff = await view("cut-off");
  await cutBeforeBootstrap(cutOff);
  await order(scene, { name: "wrong-ca", profile: "osp-wrong-ca", isStrict: true });
  await order(scene, { name: "bad-kubelet", annotations: nonsenseSignal, isStrict: true });
  await orderWithoutPackage(scene);
  await bootWithExpiredToken(scene);
  const [wrongCa, expired] = [await view("wrong-ca"), await view("expired")];
  const [badKubelet, noPackage] = [await view("bad-kubelet"), await view("no-package")];
  await scene.secrets.collect();
  return { cutOff, wrongCa, expired, badKubelet, noPackage, fullDisk: await orderTiny(scene) };
}

/** A systemd drop-in that delays the phase `bootstrap`: it creates a file, and waits until the machine is cut off. */
const gate = `[Service]
TimeoutStartSec=infinity
ExecStartPre=/bin/sh -c 'touch /run/at-gate; until test -e /run/is-cut; do sleep 0.2; done'
`;

// Cuts the machine off when it has its complete user-data and has sent nothing to the API server yet; at any other
// moment the cut would be a race.
async function cutBeforeBootstrap({ world, name, machine }: FaultView): Promise<void> {
  await machine.write("/etc/systemd/system/bootstrap.service.d/gate.conf", gate);
  const isAtGate = async (): Promise<boolean> => (await machine.run(["test", "-e", "/run/at-gate"])).exitCode === 0;
  await world.until(`machine "${name}" before its first phase`, isAtGate, 240);
  await world.site.cloud.partition(name, true);
  await machine.run(["touch", "/run/is-cut"]);
}

async function bootWithExpiredToken({ world, secrets }: Scene): Promise<void> {
  await world.untilPhase("expired", "Converged");
  await secrets.collect();
  await expireToken(world, "expired");
  await world.patch(poolPath("expired"), { spec: { replicas: 1 } });
}

async function orderTiny(scene: Scene): Promise<FaultView> {
  const { world, host } = scene;
  host.limitDisk(tinyDiskBytes);
  await order(scene, { name: "full-disk", isStrict: true });
  const view = await FaultView.of({ world, host, pool: "full-disk" });
  host.limitDisk(undefined);
  return view;
}
