/** Makes a change of the config a change of the template, which machine-controller then rolls like any other. */
import type { TemplateStamp } from "../../../workflows/contracts/mod.ts";
import { sha256 } from "../../config/artefacts.ts";
import type { Kube } from "../../kube/client.ts";
import { machineDeployments, patchObject, readObject } from "../../kube/resources.ts";
import { attempting, ifFound } from "../../kube/status.ts";
import { fieldManager } from "./actor.ts";
import { configAnnotation } from "./annotations.ts";

/** Characters of the digest that are written. */
const stampLength = 16;

/**
 * Writes a digest of template and config into the template's annotations. They are not among what a config is rendered
 * from, so the config's digest stays what it is; and another template's stamp is another one, also for the same config.
 */
export function stampTemplate(kube: Kube, { pool, templateHash, configDigest }: TemplateStamp): Promise<void> {
  return attempting(`stamp the template of "${pool.namespace}/${pool.name}"`, async () => {
    const deployment = await ifFound(readObject(kube, machineDeployments, pool));
    const stamp = sha256(`${templateHash} ${configDigest}`).slice(0, stampLength);
    if (!deployment || deployment.metadata.deletionTimestamp) return;
    const { metadata } = (deployment.spec.template ?? {}) as { metadata?: { annotations?: Record<string, unknown> } };
    if (metadata?.annotations?.[configAnnotation] === stamp) return;
    const body = { spec: { template: { metadata: { annotations: { [configAnnotation]: stamp } } } } };
    await ifFound(patchObject(kube, machineDeployments, { ...pool, body, fieldManager }));
  });
}
