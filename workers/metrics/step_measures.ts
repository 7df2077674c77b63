/** Metrics of the worker's steps. */
import type { Measured, Measures, RungAhead } from "../../activities/measures.ts";
import type { Metrics } from "./registry.ts";

/** The stages that machines wait for; each is exported, even if no machine waits for it. */
const rungs: RungAhead[] = ["instance", "address", "registered", "ready", "gates", "drained", "gone", "booted"];

/** Returns the functions to which activities report their measurements, and exports these as metrics. */
export function stepMeasures(metrics: Metrics): Measures {
  const waits = new Map<object, readonly RungAhead[]>();
  metrics.onScrape(() => {
    const ahead = [...waits.values()].flat();
    for (const rung of rungs) {
      metrics.set("ostler_machines_under_way", ahead.filter((each) => each === rung).length, { rung });
    }
  });
  return {
    failed: (activity, type) => metrics.add("ostler_activity_failures_total", { activity, type }),
    published: (seconds, news) => metrics.observe("ostler_publish_duration_seconds", seconds, { news }),
    joined: (seconds, of) => metrics.observe("ostler_join_duration_seconds", seconds, labelsOf(of)),
    drained: (seconds, of) => metrics.observe("ostler_drain_duration_seconds", seconds, labelsOf(of)),
    staged: (seconds, of) => metrics.observe("ostler_stage_duration_seconds", seconds, labelsOf(of)),
    booted: (seconds, of, verdict) => {
      metrics.add("ostler_machine_updates_total", { verdict });
      if (verdict === "Updated") metrics.observe("ostler_update_boot_duration_seconds", seconds, labelsOf(of));
    },
    underWay: (wait, ahead) => void (ahead.length > 0 ? waits.set(wait, ahead) : waits.delete(wait)),
  };
}

/**
 * Types of failure that have an alert on their increase; such an alert would miss the first failure of a new series.
 */
const alerted = ["InternalError", "AccessDenied"];
/** Further types of failure with such an alert, by activity. */
const alertedOf: Record<string, readonly string[]> = { deliverNotice: ["NoticeUndelivered", "NoticeRefused"] };

/** Exports failures of these activities as 0 from the start, so that alerts see the first one. */
export function expectFailures(metrics: Metrics | undefined, activities: readonly string[]): void {
  for (const activity of activities) {
    const types = [...alerted, ...(alertedOf[activity] ?? [])];
    for (const type of types) metrics?.add("ostler_activity_failures_total", { activity, type }, 0);
  }
}

function labelsOf({ pool: { namespace, name }, image }: Measured): Record<string, string> {
  return { pool: `${namespace}/${name}`, image: withoutLogin(image) };
}

/** Returns an image without a credential: an image may be a URL with one, whose password may contain "/" and "@". */
export function withoutLogin(image: string): string {
  return image.replace(/\/\/\S*@(?!sha256:)/, "//").replace(/[?#].*$/, "");
}
