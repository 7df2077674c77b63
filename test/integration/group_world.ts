/** What tests of scaling groups look at. */
import type { Administrator } from "../../deploy/local/cloud/groups/group_ground.ts";
import type { World } from "./world.ts";

export { first, GroupGround, kinds, type Version } from "../../deploy/local/cloud/groups/group_ground.ts";
export { conditionOf, runsOf } from "../support/group_play.ts";

/** The verbs of a world as its administrator has them. */
export function administratorOf(world: World): Administrator {
  return {
    kubeconfig: world.site.stack.adminKubeconfig,
    list: (path) => world.list(path),
    create: (path, body) => world.create(path, body),
    patch: (path, body) => world.patch(path, body),
  };
}
