/**
 * The table of all metrics: processes export it, docs/how-to/observe.md lists it, and dashboards and alerts use only
 * its names.
 */

/** A process that exports metrics. */
export type Measured = "controller" | "worker" | "webhook";

export interface Metric {
  type: "counter" | "gauge" | "histogram";
  /** The description of the metric, in a scrape and in the documentation. */
  help: string;
  /** Label names; a label with many values is bounded by the code that sets it. */
  labels?: readonly string[];
  /**
   * Series of a counter that are 0 from the start: an alert on the increase would miss the first value of a new series.
   */
  fromStart?: readonly Record<string, string>[];
  /** Upper bounds, in seconds. */
  buckets?: readonly number[];
  of: readonly Measured[];
}

const all = ["controller", "worker", "webhook"] as const;
const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const joinSeconds = [15, 30, 60, 120, 180, 300, 600, 1200, 1800];
const drainSeconds = [1, 5, 15, 60, 180, 600, 1800, 3600, 10800];

/** Outcomes of an order to a node to boot its new image. */
const updateVerdicts = ["Updated", "RolledBack", "NotReady", "NotBooted", "Lost"];

export const metrics = {
  ostler_build_info: {
    ...{ type: "gauge", of: all, labels: ["process", "version"] },
    help: "Constant 1, labelled with the process and its build id",
  },
  process_start_time_seconds: { type: "gauge", of: all, help: "Start time of the process, in seconds since 1970" },
  process_cpu_seconds_total: { type: "counter", of: all, help: "CPU time used by the process, in seconds" },
  process_resident_memory_bytes: { type: "gauge", of: all, help: "Resident memory of the process, in bytes" },
  ostler_api_requests_total: {
    ...{ type: "counter", of: all, labels: ["verb", "resource", "code"] },
    help: "Requests to the Kubernetes API server, without watches; code 0 means unanswered",
  },
  ostler_api_request_duration_seconds: {
    ...{ type: "histogram", of: all, labels: ["verb"], buckets: requestSeconds },
    help: "Response time of the Kubernetes API server in seconds, without client-side delays",
  },
  ostler_leader: {
    type: "gauge",
    of: ["controller"],
    help: "1 for the controller that leads and watches, 0 for one that is on standby or waits for Temporal",
  },
  ostler_rollouts: {
    ...{ type: "gauge", of: ["controller"], labels: ["phase"] },
    help: "Pools by phase of their Rollout; like all metrics of Rollouts, exported only by the leader",
  },
  ostler_rollout_info: {
    ...{ type: "gauge", of: ["controller"], labels: ["namespace", "name", "phase", "reason"] },
    help: "Constant 1 for each Rollout that is blocked or not Converged, at most 1,000, halted and blocked ones first",
  },
  ostler_node_version_info: {
    ...{ type: "gauge", of: ["controller"], labels: ["name", "condition", "reason"] },
    help:
      "Constant 1 for conditions Ready, KubernetesUpgraded and CertificatesRenewed of each NodeVersion, of at most 100",
  },
  ostler_rollouts_paused: { type: "gauge", of: ["controller"], help: "Pools paused by a user" },
  ostler_rollouts_awaiting_approval: {
    type: "gauge",
    of: ["controller"],
    help: "Pools that wait for approval",
  },
  ostler_rollouts_quarantined: {
    type: "gauge",
    of: ["controller"],
    help: "Pools with a change quarantined after a failure",
  },
  ostler_rollouts_blocked: {
    ...{ type: "gauge", of: ["controller"], labels: ["reason"] },
    help: "Pools that start no further machine, by reason of their condition Blocked",
  },
  ostler_rollout_blocked_seconds: {
    ...{ type: "gauge", of: ["controller"], labels: ["reason"] },
    help: "Seconds since the longest-blocked pool was blocked, by reason",
  },
  ostler_rollout_machines: {
    ...{ type: "gauge", of: ["controller"], labels: ["state"] },
    help:
      "Machines of all pools: desired, updated (with the desired template), ready, and failed in the current rollout",
  },
  ostler_rollout_steps: {
    ...{ type: "gauge", of: ["controller"], labels: ["step"] },
    help: "Machines in progress, by step of their Rollout, at most 20 per pool",
  },
  ostler_secret_age_seconds: {
    ...{ type: "gauge", of: ["controller"] },
    help: "Age in seconds of the oldest credentials in published Secrets",
  },
  ostler_credential_life_left_seconds: {
    ...{ type: "gauge", of: ["controller"] },
    help: "Seconds until the first credentials in published Secrets expire; negative when expired",
  },
  ostler_credential_overdue_seconds: {
    ...{ type: "gauge", of: ["controller"] },
    help: "Seconds the most overdue renewal of credentials is late; 0 if none is late",
  },
  ostler_credentials_expired: {
    type: "gauge",
    of: ["controller"],
    help: "Pools with expired published credentials",
  },
  ostler_certificates: {
    ...{ type: "gauge", of: ["controller"], labels: ["component", "state"] },
    help:
      "Certificates of control planes by component and state: Expired, ExpiresSoon, Unknown or Valid; at most 400 per NodeVersion",
  },
  ostler_certificate_life_left_seconds: {
    ...{ type: "gauge", of: ["controller"], labels: ["component"] },
    help: "Seconds until the first certificate of control planes expires, by component; negative when expired",
  },
  ostler_rollout_signals_total: {
    ...{ type: "counter", of: ["controller"], labels: ["outcome"] },
    fromStart: [{ outcome: "told" }, { outcome: "failed" }],
    help: "Changes signalled to Temporal ('told'), and failed signals that are retried ('failed')",
  },
  ostler_notices_total: {
    ...{ type: "counter", of: ["controller"], labels: ["kind", "outcome"] },
    help: "Notifications with a started delivery (sent), and failed starts that are retried (failed)",
  },
  ostler_worker_polling: {
    type: "gauge",
    of: ["worker"],
    help: "1 for a worker that polls for work, 0 for one that waits for Temporal or its task queue",
  },
  ostler_machines_under_way: {
    ...{ type: "gauge", of: ["worker"], labels: ["rung"] },
    help:
      "Machines that this worker waits for, by awaited stage: instance, address, registered, ready, gates, drained, gone, booted",
  },
  ostler_join_duration_seconds: {
    ...{ type: "histogram", of: ["worker"], labels: ["pool", "image"], buckets: joinSeconds },
    help: "Seconds from the start of Ostler's wait for a new machine to join until its node was Ready",
  },
  ostler_drain_duration_seconds: {
    ...{ type: "histogram", of: ["worker"], labels: ["pool", "image"], buckets: drainSeconds },
    help: "Seconds from the start of a drain until all pods to be evicted were gone, by old image",
  },
  ostler_stage_duration_seconds: {
    ...{ type: "histogram", of: ["worker"], labels: ["pool", "image"], buckets: joinSeconds },
    help: "Seconds from the order to fetch an image until a node updated in place had it",
  },
  ostler_update_boot_duration_seconds: {
    ...{ type: "histogram", of: ["worker"], labels: ["pool", "image"], buckets: joinSeconds },
    help: "Seconds from the order to boot an image until the node ran it and was Ready",
  },
  ostler_machine_updates_total: {
    ...{ type: "counter", of: ["worker"], labels: ["verdict"] },
    fromStart: updateVerdicts.map((verdict) => ({ verdict })),
    help: "Nodes ordered to boot another image, by verdict: Updated, RolledBack, NotReady, NotBooted or Lost",
  },
  ostler_fleet_lock_requests_total: {
    ...{ type: "counter", of: ["worker"], labels: ["outcome"] },
    help: "FleetLock requests of nodes that update themselves: granted, or the kind of the error, such as failed_lock",
  },
  ostler_publish_duration_seconds: {
    ...{ type: "histogram", of: ["worker"], labels: ["news"], buckets: requestSeconds },
    help: "Seconds from the order to publish a config until machines could boot from it, with queueing and retries",
  },
  ostler_activity_failures_total: {
    ...{ type: "counter", of: ["worker"], labels: ["activity", "type"] },
    help: "Failed attempts of activities, by type of failure, without cancellations",
  },
  ostler_admission_reviews_total: {
    ...{ type: "counter", of: ["webhook"], labels: ["path", "verdict"] },
    help: "Admission reviews: allowed, denied, or error if the check itself failed",
  },
  ostler_admission_duration_seconds: {
    ...{ type: "histogram", of: ["webhook"], labels: ["path"], buckets: requestSeconds },
    help: "Duration of an admission review in seconds",
  },
} as const satisfies Record<`ostler_${string}` | `process_${string}`, Metric>;

export type MetricName = keyof typeof metrics;

/** The names of all metrics of one type. */
export type NameOf<Type extends Metric["type"]> = {
  [Name in MetricName]: (typeof metrics)[Name]["type"] extends Type ? Name : never;
}[MetricName];
