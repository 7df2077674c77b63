/** A control plane that is lost while its etcd has no new member yet; processes simulate kubeadm. */
import { first } from "../../deploy/local/cloud/groups/group_ground.ts";
import { loses, withControlPlanes } from "../integration/control_plane_scene.ts";

Deno.test("K27 control planes: a machine is lost before the new one is a member: it is removed first, because etcd adds no member before", async () => {
  await withControlPlanes((scene) => loses(scene, { ...first, image: "image-2" }, "beforeAdded"));
});
