/**
 * The cause of a failed boot is reported where people read: by the machine, in the Rollout, and by `ostler explain`.
 */
import assert from "node:assert/strict";
import { machineTest, withMachines } from "../machines/real_machines.ts";
import { openScene, orderFaulty } from "../machines/faults/scene.ts";
import { getsWrongFile, isGivenUp, lacksMirror, saysWhy, staysUnfinished } from "../machines/faults/missing_things.ts";
import { distrusts, isCutOff, isRefused } from "../machines/faults/api_faults.ts";

machineTest("failed boots: a machine reports why it cannot join, and joins by itself when it can", async (t) => {
  await withMachines({}, async (world, host) => {
    const scene = await openScene(world, host);
    const views = await orderFaulty(scene);
    const { secrets } = scene;
    await t.step(
      "a machine that cannot reach the API server at boot joins once it can, and reports the cause",
      () => isCutOff(scene, views.cutOff),
    );
    await t.step("a machine reports that a package does not exist", () => saysWhy(views.noPackage, "noPackage"));
    await t.step("a machine reports that its disk is full", () => saysWhy(views.fullDisk, "fullDisk"));
    await t.step(
      "a machine reports that its kubelet refuses the configuration, and its setup stays unfinished",
      () => staysUnfinished(views.badKubelet),
    );
    await t.step("a machine installs no file whose digest is wrong, and reports the file", () => getsWrongFile(scene));
    for (const fault of ["noPackage", "fullDisk", "badKubelet"] as const) {
      await t.step(
        `the Rollout repeats the cause that the machine reported: ${fault}`,
        () => isGivenUp(views[fault], fault),
      );
    }
    await t.step("a machine with a wrong CA sends its token to no server", () => distrusts(scene, views.wrongCa));
    await t.step(
      "a machine with an expired token is refused, and the next machine gets a new token",
      () => isRefused(scene, views.expired),
    );
    await t.step("a machine joins although the mirror is down for a minute", () => lacksMirror(scene));
    await t.step("no secret is visible in histories, logs, Events and statuses", () => secrets.assertNowhere());
    assert.ok(secrets.size > 20, `Searched only for ${secrets.size} secret texts`);
  });
});
