/**
 * Annotations of the Constellation node operator on nodes. Ostler uses the same annotations, so that it can complete
 * the operator's work.
 */
import { z } from "zod";

const prefix = "constellation.edgeless.systems";

/** Annotations of the Nodes of scaling groups. */
export const marks = {
  /** Id of the node's group. */
  group: `${prefix}/scaling-group-id`,
  /** The image that the node runs. */
  image: `${prefix}/node-image`,
  /** The ConfigMap with the components that the node runs. */
  components: `${prefix}/kubernetes-components`,
  /** On an old node: the new node that replaces it. */
  heir: `${prefix}/heir`,
  /** On a new node: the old node that it replaces. */
  donor: `${prefix}/donor`,
  /** "true" on a new node that is not needed any more. */
  obsolete: `${prefix}/obsolete`,
} as const;

const controlPlaneLabel = "node-role.kubernetes.io/control-plane";

/** A Node with the values of its marks; "" for missing ones. */
export interface MarkedNode {
  name: string;
  providerId: string;
  group: string;
  image: string;
  components: string;
  heir: string;
  donor: string;
  isObsolete: boolean;
  isControlPlane: boolean;
}

const texts = z.record(z.string(), z.string()).default({});

/** Parses a Node as the API server returns it. */
export const MarkedNode: z.ZodType<MarkedNode> = z.object({
  metadata: z.object({ name: z.string(), annotations: texts, labels: texts }),
  spec: z.object({ providerID: z.string().default("") }).prefault({}),
}).transform(({ metadata: { name, annotations, labels }, spec }) => {
  const { group = "", image = "", components = "", heir = "", donor = "", obsolete } = Object.fromEntries(
    Object.entries(marks).map(([key, annotation]) => [key, annotations[annotation]]),
  );
  return {
    ...{ name, providerId: spec.providerID, group, image, components, heir, donor },
    ...{ isObsolete: obsolete === "true", isControlPlane: controlPlaneLabel in labels },
  };
});
