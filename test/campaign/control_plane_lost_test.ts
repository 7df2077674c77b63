/** A control plane that is lost for good while it is to be replaced; processes simulate kubeadm. */
import { first } from "../../deploy/local/cloud/groups/group_ground.ts";
import { loses, withControlPlanes } from "../integration/control_plane_scene.ts";

Deno.test("K27 control planes: a lost machine's member is removed, and the rollout continues", async (t) => {
  await withControlPlanes(async (scene) => {
    await t.step("once the new machine is a member", () => loses(scene, { ...first, image: "image-2" }, "onceAdded"));
    await t.step("before the new machine is a member, because etcd adds no member before", () => {
      return loses(scene, { ...first, image: "image-3" }, "beforeAdded");
    });
  });
});
