import { basename, dirname } from "node:path";
import type { Site } from "../site/site.ts";
import { nextRelease, pool, type Release, releasePatch } from "./pool_objects.ts";
import { workflowId } from "./runs.ts";

/** What a person can look at and try while everything keeps running; its commands are for a POSIX shell. */
export function thingsToTry(
  { stack }: Pick<Site, "stack">,
  tools: { kubectl: string; temporal: string },
  now: Release = nextRelease,
): string {
  const kubectl = `${basename(tools.kubectl)} -n ${pool.namespace}`;
  const temporal = (verb: string): string => `${basename(tools.temporal)} workflow ${verb} --workflow-id ${workflowId}`;
  const release = { ...now, image: now.image.replace(/\d+$/, "3") };
  const request = `--input '{"by": "me", "reason": "to see what happens"}'`;
  return [
    "Everything keeps running until Ctrl-C:",
    `  kubeconfig  ${stack.adminKubeconfig}`,
    `  web UI      ${stack.temporal.uiUrl}`,
    `  logs        ${stack.directory}/logs`,
    "Try in another terminal:",
    `  export KUBECONFIG=${stack.adminKubeconfig} TEMPORAL_ADDRESS=${stack.temporal.address}`,
    `  export PATH="${dirname(tools.kubectl)}:${dirname(tools.temporal)}:$PATH"`,
    `  ${kubectl} get rollouts,machines`,
    `  ${temporal("query")} --type progress`,
    `  ${kubectl} patch machinedeployment ${pool.name} --type merge -p '${JSON.stringify(releasePatch(release))}'`,
    `  ${temporal("update execute")} --name pause ${request}`,
    `  ${temporal("update execute")} --name resume ${request}`,
  ].join("\n");
}
