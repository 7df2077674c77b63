/** What tests of scaling groups look at. */
import type { Administrator } from "../../deploy/local/cloud/groups/group_ground.ts";
import { kinds } from "../../deploy/local/cloud/groups/group_ground.ts";
import type { World } from "./world.ts";

export { first, GroupGround, kinds, type Version } from "../../deploy/local/cloud/groups/group_ground.ts";

/** The verbs of a world as its administrator has them. */
export function administratorOf(world: World): Administrator {
  return {
    kubeconfig: world.site.stack.adminKubeconfig,
    list: (path) => world.list(path),
    create: (path, body) => world.create(path, body),
    patch: (path, body) => world.patch(path, body),
  };
}

interface Condition {
  type: string;
  reason: string;
  message: string;
}

/** A condition of the NodeVersion. */
export async function conditionOf(world: World, type: string): Promise<Condition> {
  const path = `${kinds}/nodeversions/constellation-version`;
  const version = await world.get<{ status?: { conditions?: Condition[] } }>(path);
  return version?.status?.conditions?.find((each) => each.type === type) ?? { type, reason: "", message: "" };
}

/** Image and components of each node of the cloud. */
export async function runsOf(world: World): Promise<string[]> {
  const prefix = "constellation.edgeless.systems";
  const nodes = await world.list<{
    metadata: { annotations?: Record<string, string> };
    spec: { providerID?: string };
  }>("/api/v1/nodes");
  return nodes.filter(({ spec }) => spec.providerID?.startsWith("sim:")).map(({ metadata: { annotations = {} } }) =>
    `${annotations[`${prefix}/node-image`] ?? ""} ${annotations[`${prefix}/kubernetes-components`] ?? ""}`
  );
}
