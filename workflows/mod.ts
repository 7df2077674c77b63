/** The bundle: the workflow functions and nothing else. */
// JavaScript's Temporal API would show the real time inside the sandbox, unlike Date; workflows must not see it.
delete (globalThis as { Temporal?: unknown }).Temporal;

export { admitImage } from "./admit_image.ts";
export { admitJoiningNode } from "./admit_joining_node.ts";
export { discoverScalingGroups } from "./discover_scaling_groups.ts";
export { keepAutoscaler } from "./keep_autoscaler.ts";
export { planPool } from "./plan_pool.ts";
export { renewCredentials } from "./renew_credentials.ts";
export { rollOutMachineDeployment } from "./roll_out_machine_deployment.ts";
export { rollOutNodePool } from "./roll_out_node_pool.ts";
export { rollOutNodeVersion } from "./roll_out_node_version.ts";
export { rollOutScalingGroup } from "./roll_out_scaling_group.ts";
export { sendNotice } from "./send_notice.ts";
