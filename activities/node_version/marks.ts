/** What the Constellation node operator writes on nodes; kept, so that what it left half done is taken over. */
import { z } from "zod";

const prefix = "constellation.edgeless.systems";

/** Annotations of a Node. */
export const marks = {
  /** Id of the group that it is of. */
  group: `${prefix}/scaling-group-id`,
  /** The image that it runs. */
  image: `${prefix}/node-image`,
  /** The ConfigMap with the components that it runs. */
  components: `${prefix}/kubernetes-components`,
  /** On an old node: the new one that comes for it. */
  heir: `${prefix}/heir`,
  /** On a new node: the old one that goes for it. */
  donor: `${prefix}/donor`,
  /** "true" on a new node that nobody wants any more. */
  obsolete: `${prefix}/obsolete`,
} as const;

const controlPlaneLabel = "node-role.kubernetes.io/control-plane";

/** A Node as its marks tell; "" for what they do not say. */
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

/** Reads it off a Node as the API server gives it. */
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
