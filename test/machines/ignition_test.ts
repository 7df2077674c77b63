/**
 * The files, units and keys that Ignition creates from Ostler's user-data. Debian's Ignition runs on Debian's root file
 * system, because there is no image of Flatcar to boot here.
 */
import assert from "node:assert/strict";
import type { MachineContainer } from "../../deploy/local/machines/machine_container.ts";
import {
  closeTemplateEngines,
  defaultProfiles,
  generateUserData,
  type OsConfig,
  type OsConfigPhase,
  type Phase,
  renderConfig,
  userDataFacts,
} from "../../profiles/mod.ts";
import { poolsPath, secretPath } from "../integration/pool_objects.ts";
import { withWorld, type World } from "../integration/world.ts";
import { factsFor } from "../support/default_profile_facts.ts";
import { asSpec3, type Spec3 } from "./ignition/as_spec_3.ts";
import { assertFiles, assertKeys, assertUnits } from "./ignition/brought.ts";
import { type IgnitionGround, openIgnitionGround } from "./ignition/ignition_ground.ts";
import { machineTest, openHost, realPool } from "./real_machines.ts";

Deno.test.afterAll(closeTemplateEngines);

/** Replaces the placeholder of the machine's name, as machine-controller does. */
function named(userData: string, name: string): string {
  return userData.replaceAll("<MACHINE_NAME>", name).replaceAll("%3CMACHINE_NAME%3E", name);
}

async function flatcarUserData(phase: Phase): Promise<string> {
  const flatcar = (await defaultProfiles()).find(({ metadata }) => metadata.name === "osp-flatcar")?.spec;
  assert.ok(flatcar);
  // No server has this address, so the machine cannot leave the phase of its user-data.
  const facts = factsFor(flatcar, "kubevirt", { cluster: { apiServer: "https://192.0.2.1:6443" } });
  return generateUserData(await renderConfig(flatcar, facts), phase, userDataFacts(facts));
}

const everyKind: OsConfigPhase = {
  files: [
    { path: "/etc/motd", permissions: 640, content: { inline: { data: "the image has this file: 100 % ä <&>\n" } } },
    { path: "/opt/new/folder/empty", permissions: 600, content: { inline: { data: "" } } },
  ],
  units: [
    {
      ...{ name: "written.service", enable: true },
      content:
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
      dropIns: [{ name: "10-written.conf", content: "[Service]\nExecStartPost=/usr/bin/touch /run/drop-in\n" }],
    },
    { name: "ssh.service", mask: true },
    { name: "e2scrub_reap.service", enable: false },
  ],
  userSSHKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGolden0000000000000000000000000000000000000 ops@example"],
};

/**
 * Returns user-data with every kind of part that does not depend on Flatcar: files, modes, units, drop-ins, masks and
 * keys.
 */
function userDataOfEveryKind(ignitionVersion: NonNullable<OsConfig["ignitionVersion"]>): string {
  const both = { bootstrapConfig: everyKind, provisioningConfig: everyKind };
  const cloudProvider = { name: "kubevirt", spec: {} };
  const kind = { osName: "flatcar", osVersion: "", provisioningUtility: "ignition", ignitionVersion } as const;
  return generateUserData({ ...kind, ...both, cloudProvider }, "bootstrap", { name: "x", distUpgradeOnBoot: false });
}

async function assertBrought(machine: MachineContainer, config: Spec3): Promise<void> {
  await assertFiles(machine, config);
  await assertUnits(machine, config);
  await assertKeys(machine, config);
}

/** Waits until a command of the shell succeeds on the machine. */
async function until(machine: MachineContainer, command: string): Promise<void> {
  const loop = 'for try in $(seq 120); do sh -c "$0" && exit; sleep 0.5; done; exit 1';
  const { exitCode, stdout, stderr } = await machine.run(["sh", "-c", loop, command]);
  assert.equal(exitCode, 0, `Failed for a minute: ${command}: ${stdout}${stderr}`);
}

/** Reboots the machine so that Ignition runs once more, with this config, as the first phase of osp-flatcar does it. */
async function bootAgainWith(machine: MachineContainer, config: Spec3): Promise<void> {
  await machine.write("/oem/config.ign", JSON.stringify(config));
  await machine.run(["sh", "-c", "touch /boot/flatcar/first_boot && rm /etc/machine-id"]);
  await machine.reboot();
}

machineTest(
  "Ignition: version 2.14 writes files, modes, units and keys of Ostler's configs of spec 2.3.0, " +
    "converted to spec 3.3.0 by this test; not tested: Ignition's own parser of 2.3.0, and Flatcar's own image",
  async (t) => {
    await withIgnition(async (ground) => {
      const bootstrap = asSpec3(named(await flatcarUserData("bootstrap"), "flatcar-1"));
      const machine = await ground.boot("flatcar-1", JSON.stringify(bootstrap));
      await t.step("Ignition writes the first phase of osp-flatcar, and systemd starts it", async () => {
        await until(machine, "grep -qs 'try 1 of' /run/ostler/bootstrap.errors");
        await assertBrought(machine, bootstrap);
      });
      await t.step("Ignition writes the second phase when it runs again, and systemd starts it", async () => {
        const provisioning = asSpec3(await flatcarUserData("provisioning"));
        await bootAgainWith(machine, provisioning);
        await until(machine, "grep -qs 'try 1 of' /run/ostler/setup.errors");
        await assertBrought(machine, provisioning);
      });
      await t.step("Ignition creates every kind of part that does not depend on Flatcar", async () => {
        const every = asSpec3(userDataOfEveryKind("2.3.0"));
        const other = await ground.boot("every-1", JSON.stringify(every));
        await until(other, "systemctl is-active --quiet written.service && test -e /run/drop-in");
        await assertBrought(other, every);
      });
    });
  },
);

machineTest(
  "Ignition: a machine joins with Ignition 2.14 from published configs of spec 3.3.0 in both phases; not tested: Flatcar's own image",
  async () => {
    await withIgnition(async (ground, pool) => {
      await withWorld({ machines: ground }, async (world) => {
        await world.create(profilesPath, newerFlatcar);
        await world.create(poolsPath(), pool);
        const machine = await rebooting(world, ground);
        await world.untilPhase("pool", "Converged");
        // A node may be Ready shortly before the setup phase ends, which deletes the files that only the setup needed.
        await until(machine.container, "! systemctl is-active --quiet setup.service");
        await assertPublished(world, machine, "bootstrap", ["/etc/ostler/token"]);
        await assertPublished(world, machine, "provisioning", ["/etc/ostler/token"]);
        await until(
          machine.container,
          "systemctl is-active --quiet containerd.service && systemctl is-active --quiet kubelet.service",
        );
        const { stdout: failed } = await machine.container.run(["systemctl", "--failed", "--no-legend", "--plain"]);
        assert.equal(failed.trim(), "");
        const { exitCode } = await machine.container.run(["test", "-e", "/oem/config.ign"]);
        assert.notEqual(exitCode, 0, "The second config still exists, with its secrets");
      });
    });
  },
);

const profilesPath = "/apis/operatingsystemmanager.k8c.io/v1alpha1/namespaces/kube-system/operatingsystemprofiles";

/** A profile that extends osp-flatcar and only sets the Ignition version to 3.3.0. */
const newerFlatcar = {
  apiVersion: "operatingsystemmanager.k8c.io/v1alpha1",
  kind: "OperatingSystemProfile",
  metadata: { name: "osp-flatcar-ignition-3", namespace: "kube-system" },
  spec: {
    extends: { name: "osp-flatcar" },
    ...{ osName: "flatcar", version: "v1.0.0", provisioningUtility: "ignition", ignitionVersion: "3.3.0" },
  },
};

async function withIgnition(story: (ground: IgnitionGround, pool: object) => Promise<void>): Promise<void> {
  const host = await openHost();
  try {
    const ground = await openIgnitionGround(host);
    const flatcar = { operatingSystem: "flatcar", image: "docker://images.example/flatcar:1" };
    try {
      await story(ground, realPool(host, { ...flatcar, profile: newerFlatcar.metadata.name }));
    } finally {
      await ground.stop();
    }
  } finally {
    await host.stop();
  }
}

interface NamedMachine {
  name: string;
  container: MachineContainer;
}

/** The pool's only machine, which reboots during its setup. */
async function rebooting(world: World, ground: IgnitionGround): Promise<NamedMachine> {
  return await world.until("the machine", async () => {
    const [machine] = world.site.cloud.machines();
    const container = machine && await ground.machine(machine.name).catch(() => undefined);
    return container && { name: machine.name, container };
  });
}

async function assertPublished(
  world: World,
  { name, container }: NamedMachine,
  phase: Phase,
  gone: string[],
): Promise<void> {
  const secret = await world.get<{ data: Record<string, string> }>(secretPath(`pool-kube-system-${phase}-config`));
  const userData = new TextDecoder().decode(Uint8Array.fromBase64(secret?.data["cloud-config"] ?? ""));
  const config: Spec3 = JSON.parse(phase === "bootstrap" ? named(userData, name) : userData);
  assert.equal(config.ignition.version, "3.3.0");
  await assertFiles(container, config, gone);
  await assertUnits(container, config);
}
