/** Every metric of ours, once: what processes export, what docs/how-to/observe.md lists, what dashboards and alerts may name. */

/** A process that exports metrics. */
export type Measured = "controller" | "worker" | "webhook";

export interface Metric {
  type: "counter" | "gauge" | "histogram";
  /** Also the meaning in the documentation. */
  help: string;
  /** Each of few values; what could be of many is bounded by who sets it. */
  labels?: readonly string[];
  /** Series of a counter that are 0 from the start: who asks by how much it grew does not see the first of a new one. */
  fromStart?: readonly Record<string, string>[];
  /** Upper bounds, in seconds. */
  buckets?: readonly number[];
  of: readonly Measured[];
}

const all = ["controller", "worker", "webhook"] as const;
const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const joinSeconds = [15, 30, 60, 120, 180, 300, 600, 1200, 1800];
const drainSeconds = [1, 5, 15, 60, 180, 600, 1800, 3600, 10800];

/** What a node may have made of the order to boot. */
const updateVerdicts = ["Updated", "RolledBack", "NotReady", "NotBooted", "Lost"];

export const metrics = {
  ostler_build_info: {
    ...{ type: "gauge", of: all, labels: ["process", "version"] },
    help: "1; tells which process it is, and the build id that it was given",
  },
  process_start_time_seconds: { type: "gauge", of: all, help: "When the process was started, in seconds since 1970" },
  process_cpu_seconds_total: { type: "counter", of: all, help: "Processor time that the process has used" },
  process_resident_memory_bytes: { type: "gauge", of: all, help: "Memory of the process that is resident" },
  ostler_api_requests_total: {
    ...{ type: "counter", of: all, labels: ["verb", "resource", "code"] },
    help: "Requests of the Kubernetes API server that were answered, watches left out; code 0 is one that was not",
  },
  ostler_api_request_duration_seconds: {
    ...{ type: "histogram", of: all, labels: ["verb"], buckets: requestSeconds },
    help: "Time until the Kubernetes API server had answered, pauses of our own left out",
  },
  ostler_leader: {
    type: "gauge",
    of: ["controller"],
    help: "1 of the controller that leads and watches, 0 of one that stands by or waits for Temporal",
  },
  ostler_rollouts: {
    ...{ type: "gauge", of: ["controller"], labels: ["phase"] },
    help: "Pools by the phase that their Rollout is in; like all that is told of Rollouts, by the leader alone",
  },
  ostler_rollouts_paused: { type: "gauge", of: ["controller"], help: "Pools that a person paused" },
  ostler_rollouts_awaiting_approval: {
    type: "gauge",
    of: ["controller"],
    help: "Pools that wait for somebody to approve",
  },
  ostler_rollouts_quarantined: {
    type: "gauge",
    of: ["controller"],
    help: "Pools whose change failed before and is held",
  },
  ostler_rollouts_blocked: {
    ...{ type: "gauge", of: ["controller"], labels: ["reason"] },
    help: "Pools where nothing more begins, by the reason of their condition Blocked",
  },
  ostler_rollout_blocked_seconds: {
    ...{ type: "gauge", of: ["controller"], labels: ["reason"] },
    help: "How long the pool has been blocked that has been for longest, by reason",
  },
  ostler_rollout_machines: {
    ...{ type: "gauge", of: ["controller"], labels: ["state"] },
    help:
      "Machines of all pools: desired, updated (made from what is desired), ready, and failed in the rollout under way",
  },
  ostler_rollout_steps: {
    ...{ type: "gauge", of: ["controller"], labels: ["step"] },
    help: "Machines that something is done with, by step, as Rollouts name them: of each pool the first twenty",
  },
  ostler_secret_age_seconds: {
    ...{ type: "gauge", of: ["controller"] },
    help: "Age of the credentials in published secrets, of the pool where they are oldest",
  },
  ostler_credential_life_left_seconds: {
    ...{ type: "gauge", of: ["controller"] },
    help:
      "Until credentials in published secrets end, of the pool where that is soonest; negative where they have ended",
  },
  ostler_credential_overdue_seconds: {
    ...{ type: "gauge", of: ["controller"] },
    help:
      "Since when credentials should have been renewed, of the pool where that is longest; 0 where none should have been",
  },
  ostler_credentials_expired: {
    type: "gauge",
    of: ["controller"],
    help: "Pools whose published credentials have ended",
  },
  ostler_rollout_signals_total: {
    ...{ type: "counter", of: ["controller"], labels: ["outcome"] },
    fromStart: [{ outcome: "told" }, { outcome: "failed" }],
    help: "Changes that Temporal was told of (told), or could not be told of and that are told again (failed)",
  },
  ostler_notices_total: {
    ...{ type: "counter", of: ["controller"], labels: ["kind", "outcome"] },
    help: "Notices whose delivery was begun (sent), or could not be begun and is tried again (failed)",
  },
  ostler_worker_polling: {
    type: "gauge",
    of: ["worker"],
    help: "1 of a worker that takes up work, 0 of one that waits for Temporal, or for its place there",
  },
  ostler_machines_under_way: {
    ...{ type: "gauge", of: ["worker"], labels: ["rung"] },
    help:
      "Machines that this worker waits for, by what they have still to reach: instance, address, registered, ready, gates, drained, gone, booted",
  },
  ostler_join_duration_seconds: {
    ...{ type: "histogram", of: ["worker"], labels: ["pool", "image"], buckets: joinSeconds },
    help: "From the order to wait for a machine, or to admit it, until its node was Ready",
  },
  ostler_drain_duration_seconds: {
    ...{ type: "histogram", of: ["worker"], labels: ["pool", "image"], buckets: drainSeconds },
    help: "From the order to empty a node until no pod was left that had to move, by the image that went",
  },
  ostler_stage_duration_seconds: {
    ...{ type: "histogram", of: ["worker"], labels: ["pool", "image"], buckets: joinSeconds },
    help: "From the order to fetch an image until a node that is updated in place had it",
  },
  ostler_update_boot_duration_seconds: {
    ...{ type: "histogram", of: ["worker"], labels: ["pool", "image"], buckets: joinSeconds },
    help: "From the order to boot an image until the node ran it and was Ready",
  },
  ostler_machine_updates_total: {
    ...{ type: "counter", of: ["worker"], labels: ["verdict"] },
    fromStart: updateVerdicts.map((verdict) => ({ verdict })),
    help: "Nodes that were told to boot another image, by verdict: Updated, RolledBack, NotReady, NotBooted or Lost",
  },
  ostler_fleet_lock_requests_total: {
    ...{ type: "counter", of: ["worker"], labels: ["outcome"] },
    help: "Requests of nodes that update themselves: granted, or by the kind of the answer, such as failed_lock",
  },
  ostler_publish_duration_seconds: {
    ...{ type: "histogram", of: ["worker"], labels: ["news"], buckets: requestSeconds },
    help: "From the order to publish a config until machines could boot from it, queue and tries counted in",
  },
  ostler_activity_failures_total: {
    ...{ type: "counter", of: ["worker"], labels: ["activity", "type"] },
    help: "Tries of activities that failed, by type of failure; those that were cancelled are none",
  },
  ostler_admission_reviews_total: {
    ...{ type: "counter", of: ["webhook"], labels: ["path", "verdict"] },
    help: "Objects that were judged: allowed, denied, or error where no judgement was reached",
  },
  ostler_admission_duration_seconds: {
    ...{ type: "histogram", of: ["webhook"], labels: ["path"], buckets: requestSeconds },
    help: "Time that a judgement took",
  },
} as const satisfies Record<`ostler_${string}` | `process_${string}`, Metric>;

export type MetricName = keyof typeof metrics;

/** The names of a type. */
export type NameOf<Type extends Metric["type"]> = {
  [Name in MetricName]: (typeof metrics)[Name]["type"] extends Type ? Name : never;
}[MetricName];
