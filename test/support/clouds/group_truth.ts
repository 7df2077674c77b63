/** The actual state of a simulated cloud, whatever the wire format in front of it shows. */
import type { CloudInstance, GroupCloud } from "../../../deploy/local/cloud/groups/group_cloud.ts";
import type { CloudUnderTest, Truth } from "../driver_conformance.ts";

/**
 * Returns functions that read the actual state of a group, make all instances visible, and complete all deletions;
 * `tokenOf` returns the token with which an instance was ordered.
 */
export function truthIn(
  cloud: GroupCloud,
  id: string,
  tokenOf: (instance: CloudInstance) => string | undefined = ({ token }) => token,
): Pick<CloudUnderTest, "truth" | "show" | "settle"> {
  return {
    truth: () => truthOf(cloud, id, tokenOf),
    show: () => {
      for (const instance of cloud.instances()) instance.since = new Date(0).toISOString();
    },
    settle: () => {
      for (const { providerId, state } of cloud.instances()) {
        if (state === "Terminating") cloud.set(providerId, { state: "Terminated" });
      }
    },
  };
}

function truthOf(cloud: GroupCloud, id: string, tokenOf: (instance: CloudInstance) => string | undefined): Truth {
  const group = cloud.group(id);
  const all = cloud.instances();
  return {
    size: group?.size ?? 0,
    alive: all.filter(({ state }) => state !== "Terminating" && state !== "Terminated").length,
    tokens: all.flatMap((instance) => tokenOf(instance) ?? []),
    boots: group?.boots.fields.image ?? "",
    templates: group?.templates.length ?? 0,
  };
}
