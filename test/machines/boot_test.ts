/**
 * Machines that boot from Ostler's profiles, their actual state, and one that cannot become a node. The Ubuntu profile
 * boots on Debian's packages, because there is no image of Ubuntu: its use of apt on Ubuntu is not tested.
 */
import { type Booted, orderMachines, siteSettings } from "./boot_pools.ts";
import { checkCalls, checkRequests, checkRights } from "./boot_identity.ts";
import { checkAskedOfKubelet, checkKubeletConfig, checkPods } from "./effective_settings.ts";
import { checkImpostor } from "./impostor.ts";
import { FaultView } from "./faults/fault_view.ts";
import { isGivenUp, saysWhy } from "./faults/missing_things.ts";
import { openScene, orderWithoutPackage } from "./faults/scene.ts";
import { checkEnd } from "./machine_end.ts";
import { checkCertificates, checkNode, checkTaintsAndLabels, checkUnique } from "./node_identity.ts";
import { machineTest, withMachines } from "./real_machines.ts";
import { checkSecondBoot, checkSecondRun } from "./second_boot.ts";
import { checkKeepers, checkNowhereShown, watchProcesses } from "./secret_traces.ts";
import { checkPackage, checkSshKey, checkUnits, untilBooted } from "./unit_states.ts";
import { checkName, checkShownFiles, checkWrittenFiles } from "./written_files.ts";

type Check = (booted: Booted) => unknown;

machineTest(
  "profiles: osp-debian, and osp-ubuntu on Debian's packages, make nodes of machines that really boot",
  async (t) => {
    await withMachines({ seed: 41, settings: siteSettings }, async (world, host) => {
      const { debian, ubuntu } = await orderMachines(world, host);
      await orderWithoutPackage(await openScene(world, host));
      const processes = Promise.all([watchProcesses(debian), watchProcesses(ubuntu)]);
      // Prevents an unhandled rejection if the test fails earlier; `processes` is awaited below, and reports its error
      // there.
      processes.catch(() => {});
      const machines = [debian, ubuntu];
      for (const { pool } of machines) {
        const isDone = async (): Promise<boolean> => (await world.status(pool))?.phase === "Converged";
        await world.until(`pool "${pool}" converged`, isDone, 600);
      }
      await Promise.all(machines.map(untilBooted));
      const [seenOnDebian, seenOnUbuntu] = await processes;
      const onBoth = (what: string, ...checks: Check[]): Promise<boolean> => step(t, what, machines, checks);
      const onDebian = (what: string, ...checks: Check[]): Promise<boolean> => step(t, what, [debian], checks);

      await onBoth("every published file exists with mode, owner and content", checkWrittenFiles);
      await onBoth("the config shows the content of the secrets, except for credentials", checkShownFiles);
      await onBoth("units run, phases are complete, and nothing failed or waits", checkUnits);
      await onDebian("a package of the profile came through the mirror", checkPackage);
      await onDebian("the pool's SSH key is the only authorized key of the image's user", checkSshKey);
      await onBoth("host name, machine name and node name are equal", checkName);
      await onBoth("node and Machine know each other by address, owner and provider", checkNode);
      await t.step("no two machines have the same identity", () => checkUnique(machines));
      await onDebian(
        "the node has labels and taints of the pool and the cluster",
        (one) => checkTaintsAndLabels(one, true),
      );
      await step(t, "a node of a pool without taints has those of the cluster", [ubuntu], [
        (one) => checkTaintsAndLabels(one, false),
      ]);
      await onBoth("the kubelet runs with the settings of kubelet.conf", checkKubeletConfig);
      await onDebian("the kubelet runs with the settings of the annotations", checkAskedOfKubelet);
      await onBoth("both certificates were issued, and the kubelet serves with its own", checkCertificates);
      await onBoth("containerd runs a pod that answers and logs, in the configured sandbox", checkPods);
      await onBoth("two secrets were fetched and the boot reported, with the restricted token", checkRequests);
      await onBoth("the machine's token can only read its two Secrets and write its boot report", checkRights);
      await t.step(
        "a stolen token allows only the three requests of a booting machine",
        () => checkCalls(debian, ubuntu.pool),
      );
      await onBoth("an impostor of the API server gets no token", checkImpostor);
      await t.step("no secret is visible in journal, logs or process list", async () => {
        await checkNowhereShown(debian, seenOnDebian);
        await checkNowhereShown(ubuntu, seenOnUbuntu);
      });
      await onBoth("only files that are made for secrets contain secrets, and only root can read them", checkKeepers);
      // The machines never reboot at the same time: the engine could give one machine the address of the other.
      await t.step("running both phases again, or booting again, changes nothing", async () => {
        await Promise.all([checkSecondRun(debian), checkSecondBoot(ubuntu)]);
        await Promise.all([checkSecondBoot(debian), checkSecondRun(ubuntu)]);
      });
      await onBoth("all files are still as published", checkWrittenFiles);
      await t.step("a machine that cannot join reports why, and the Rollout repeats the cause", async () => {
        const stuck = await FaultView.of({ world, host, pool: "no-package" });
        await saysWhy(stuck, "noPackage");
        await isGivenUp(stuck, "noPackage");
      });
      await t.step("machine and node of a deleted pool are deleted, and the pool's token is refused", async () => {
        await Promise.all(machines.map(checkEnd));
      });
    });
  },
);

function step(t: Deno.TestContext, what: string, machines: Booted[], checks: Check[]): Promise<boolean> {
  return t.step(what, async () => {
    for (const machine of machines) {
      for (const check of checks) await check(machine);
    }
  });
}
