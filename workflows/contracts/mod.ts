/**
 * What the workflow asks of the world and tells it: types only, so the decider never names the doer.
 * Everything here crosses Temporal as plain JSON and carries names, digests and sizes, never secret bytes.
 */
export type * from "./activities.ts";
export type * from "./node_version.ts";
export type * from "./carried.ts";
export type * from "./pool.ts";
export type * from "./pool.ts";
export type * from "./node_version.ts";
export type * from "./etcd.ts";
export type * from "./publication.ts";
export type * from "./node_version.ts";
export type * from "./memory.ts";
export type * from "./node_os.ts";
export type * from "./node_update.ts";
export type * from "./node_version.ts";
export type * from "./publication.ts";
export type * from "./os_image.ts";
export type * from "./outcomes.ts";
export type * from "./progress.ts";
export type * from "./pool.ts";
export type * from "./progress.ts";
export type * from "./publication.ts";
export type * from "./publication.ts";
export type * from "./progress.ts";
export type * from "./pool.ts";
export type * from "./carried.ts";
export type * from "./carried.ts";
export type * from "./pool.ts";
