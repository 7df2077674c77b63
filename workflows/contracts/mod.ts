/**
 * The types of activities, inputs and results: types only, so that workflows never import activities. Inputs and
 * results pass through Temporal as plain JSON with names, digests and sizes, never with secret bytes.
 */
export type * from "./activities.ts";
export type * from "./carried.ts";
export type * from "./etcd.ts";
export type * from "./kubernetes.ts";
export type * from "./memory.ts";
export type * from "./node_os.ts";
export type * from "./node_update.ts";
export type * from "./node_version.ts";
export type * from "./os_image.ts";
export type * from "./outcomes.ts";
export type * from "./pool.ts";
export type * from "./progress.ts";
export type * from "./publication.ts";
