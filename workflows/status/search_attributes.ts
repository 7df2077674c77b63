/** The search attributes of runs, and their values; the worker registers them when it starts. */

/** Name and type of each search attribute, in the form of the SDK's typed search attributes. */
export const searchAttributes = {
  cluster: { name: "KubernetesCluster", type: "KEYWORD" },
  namespace: { name: "KubernetesNamespace", type: "KEYWORD" },
  machineDeployment: { name: "MachineDeployment", type: "KEYWORD" },
  image: { name: "TargetImage", type: "KEYWORD" },
  phase: { name: "Phase", type: "KEYWORD" },
} as const;

/** Maximum characters of a value: as many as Temporal stores in each of its databases. */
const longest = 255;

/**
 * Returns the text as the value of a search attribute, cut to the length that Temporal stores. Temporal terminates a
 * run that sets a value above 2 KB, and an SQL database drops the row of a run with more than 255 characters.
 */
export function columnTextOf(text: string): string {
  return text.length <= longest ? text : [...text].slice(0, longest).join("");
}
