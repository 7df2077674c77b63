/** Entry point of the workflow bundle: exports the workflow functions and nothing else. */
// JavaScript's Temporal API would show the real time inside the sandbox, unlike Date, so workflows must not see it.
delete (globalThis as { Temporal?: unknown }).Temporal;

export { admitImage } from "./admit_image.ts";
export { admitJoiningNode } from "./one_step_workflows.ts";
export { discoverScalingGroups } from "./one_step_workflows.ts";
export { keepAutoscaler } from "./one_step_workflows.ts";
export { planPool } from "./one_step_workflows.ts";
export { renewCertificates } from "./renew_certificates.ts";
export { renewCredentials } from "./renew_credentials.ts";
export { rollOutMachineDeployment } from "./roll_out_pool.ts";
export { rollOutNodePool } from "./roll_out_node_pool.ts";
export { rollOutNodeVersion } from "./roll_out_node_version.ts";
export { rollOutScalingGroup } from "./roll_out_pool.ts";
export { sendNotice } from "./one_step_workflows.ts";
export { upgradeKubernetes } from "./upgrade_kubernetes.ts";
