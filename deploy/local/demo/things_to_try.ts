import type { Site } from "../site/site.ts";
import { pool, releasePatch } from "./pool_objects.ts";
import { workflowId } from "./runs.ts";

/** What a person can look at and try while everything keeps running. */
export function thingsToTry(site: Site, tools: { kubectl: string; temporal: string }): string {
  const { stack } = site;
  const kubectl = `${tools.kubectl} --kubeconfig ${stack.adminKubeconfig} -n ${pool.namespace}`;
  const temporal = (verb: string): string =>
    `${tools.temporal} workflow ${verb} --address ${stack.temporal.address} --workflow-id ${workflowId}`;
  const release = { image: "docker://ostler.example/ubuntu:24.04-3", kubelet: "1.36.1" };
  const request = `--input '{"by": "me", "reason": "to see what happens"}'`;
  return [
    "Everything keeps running until Ctrl-C:",
    `  kubeconfig  ${stack.adminKubeconfig}`,
    `  web UI      ${stack.temporal.uiUrl}`,
    `  logs        ${stack.directory}/logs`,
    "Try:",
    `  ${kubectl} get rollouts,machines`,
    `  ${temporal("query")} --type progress`,
    `  ${kubectl} patch machinedeployment ${pool.name} --type merge -p '${JSON.stringify(releasePatch(release))}'`,
    `  ${temporal("update execute")} --name pause ${request}`,
    `  ${temporal("update execute")} --name resume ${request}`,
  ].join("\n");
}
