/** What goes wrong while a machine boots is told where people look: by the machine, the verdict and `ostler explain`. */
import assert from "node:assert/strict";
import { machineTest, withMachines } from "../machines/real_machines.ts";
import { openScene, orderFaulty } from "../machines/faults/scene.ts";
import { getsWrongFile, isGivenUp, lacksMirror, saysWhy, staysUnfinished } from "../machines/faults/missing_things.ts";
import { distrusts, isCutOff, isRefused } from "../machines/faults/api_faults.ts";

machineTest("a machine that cannot join says why, and joins by itself once it can", async (t) => {
  await withMachines({}, async (world, host) => {
    const scene = await openScene(world, host);
    const views = await orderFaulty(scene);
    const { secrets } = scene;
    await t.step("the API server is out of reach at boot", () => isCutOff(scene, views.cutOff));
    await t.step("a package does not exist", () => saysWhy(views.noPackage, "noPackage"));
    await t.step("the disk is full", () => saysWhy(views.fullDisk, "fullDisk"));
    await t.step("the kubelet refuses its configuration", () => staysUnfinished(views.badKubelet));
    await t.step("a file is not what its checksum says", () => getsWrongFile(scene));
    for (const fault of ["noPackage", "fullDisk", "badKubelet"] as const) {
      await t.step(`the verdict repeats what the machine said: ${fault}`, () => isGivenUp(views[fault], fault));
    }
    await t.step("the CA is wrong, and nobody unverified is given the token", () => distrusts(scene, views.wrongCa));
    await t.step("the token has expired, and the next machine gets another", () => isRefused(scene, views.expired));
    await t.step("the mirror is down for a minute", () => lacksMirror(scene));
    await t.step("no secret shows in histories, logs, Events and statuses", () => secrets.assertNowhere());
    assert.ok(secrets.size > 20, `Only ${secrets.size} secret texts were looked for`);
  });
});
