/** NodePool: nodes that are updated in place; deploy/kubernetes/crds/node_pools.yaml has the same rules. */
import { z } from "zod";
import { Selector } from "./status.ts";
import { Metadata, type Resource } from "./resources.ts";

/**
 * A repository and the digest of an image in it. A tag alone is invalid, because it may later name a different image.
 */
const pinnedImage = /^[a-z0-9][a-z0-9._:/-]{0,400}@sha256:[0-9a-f]{64}$/;

const Image = z.union([
  z.strictObject({ reference: z.string().regex(pinnedImage, 'must be "repository@sha256:" and 64 hex digits') }),
  z.strictObject({ osImage: z.string().min(1).max(253) }),
]);

export const NodePool = z.object({
  metadata: Metadata.extend({ managedFields: z.array(z.unknown()).optional() }),
  spec: z.strictObject({
    nodeSelector: Selector,
    image: Image.optional(),
    driver: z.enum(["bootc", "rpm-ostree", "ostree", "FleetLock"]),
    fleetLock: z.strictObject({ group: z.string().max(63).regex(/^[a-zA-Z0-9.-]+$/).default("default") }).optional(),
  }).refine(({ driver, image }) => (driver === "FleetLock") === (image === undefined), {
    message: "image is required, except with driver FleetLock, where it is not allowed",
  }).refine(({ driver, fleetLock }) => driver === "FleetLock" || fleetLock === undefined, {
    message: "fleetLock is allowed only with driver FleetLock",
  }),
});
export type NodePool = z.infer<typeof NodePool>;

export const nodePools: Resource<NodePool> = {
  ...{ group: "ostler.dev", version: "v1alpha1", plural: "nodepools" },
  schema: NodePool,
};
