/** Specs of policies that can be used, and such that cannot, with the field that is told. */

const prometheus = { url: "http://prometheus:9090", query: "up", operator: "<", threshold: 0.5 };
const window = { cron: "0 2 * * *", duration: "1h" };

export const usable: Record<string, unknown> = {
  "nothing at all": {},
  "a last wave that leaves machines out": { waves: [{ upTo: 1 }, { upTo: "10%" }, { upTo: 7 }, { upTo: "20%" }] },
  "growth": { growth: { from: 2, factor: 1.5, soak: "1h30m" } },
  "two windows": { windows: [window, { cron: "0 2 * * SUN#1", duration: "90s", timeZone: "Asia/Kolkata" }] },
  "a Prometheus below a path": { gates: [{ name: "a", prometheus: { ...prometheus, url: "https://x/prom/" } }] },
  "every DaemonSet": { gates: [{ name: "a", daemonSets: {} }] },
  "a selector of expressions": { selector: { matchExpressions: [{ key: "tier", operator: "NotIn", values: ["db"] }] } },
  "no repair above nothing": { repair: { maxUnhealthy: "0%" } },
};

/** Where each fault is told. */
export const unusable: Record<string, [spec: unknown, field: string]> = {
  "a field that does not exist": [{ wavez: [] }, "spec"],
  "no waves": [{ waves: [] }, "spec.waves"],
  "a wave of nothing": [{ waves: [{ upTo: 0 }] }, "spec.waves.0.upTo"],
  "a wave of more than all": [{ waves: [{ upTo: "101%" }] }, "spec.waves.0.upTo"],
  "a wave of half a machine": [{ waves: [{ upTo: 0.5 }] }, "spec.waves.0.upTo"],
  "a count that shrinks": [{ waves: [{ upTo: 5 }, { upTo: "10%" }, { upTo: 3 }] }, "spec.waves.2.upTo"],
  "a count that stays": [{ waves: [{ upTo: 5 }, { upTo: 5 }] }, "spec.waves.1.upTo"],
  "a share that shrinks": [{ waves: [{ upTo: "50%" }, { upTo: "5%" }] }, "spec.waves.1.upTo"],
  "waves and growth": [{ waves: [{ upTo: 1 }], growth: {} }, "spec.growth"],
  "growth that does not grow": [{ growth: { factor: 1 } }, "spec.growth.factor"],
  "a duration without a unit": [{ drain: { timeout: "15" } }, "spec.drain.timeout"],
  "an empty duration": [{ drain: { timeout: "" } }, "spec.drain.timeout"],
  "a timeout of nothing": [{ drain: { timeout: "0m" } }, "spec.drain.timeout"],
  "a window of nothing": [{ windows: [{ ...window, duration: "0h0m" }] }, "spec.windows.0.duration"],
  "a cron of six fields": [{ windows: [{ ...window, cron: "0 0 2 * * *" }] }, "spec.windows.0.cron"],
  "a cron of words": [{ windows: [{ ...window, cron: "at two every night now" }] }, "spec.windows.0.cron"],
  "a cron that asks for the present": [{ windows: [{ ...window, cron: "? 2 * * *" }] }, "spec.windows.0.cron"],
  "a cron that never comes true": [{ windows: [{ ...window, cron: "0 2 30 2 *" }] }, "spec.windows.0.cron"],
  "a time zone nobody knows": [{ windows: [{ ...window, timeZone: "Mars/Base" }] }, "spec.windows.0.timeZone"],
  "a gate without a check": [{ gates: [{ name: "a" }] }, "spec.gates.0"],
  "a gate with two checks": [{ gates: [{ name: "a", daemonSets: {}, job: { cronJob: "b" } }] }, "spec.gates.0"],
  "two gates of one name": [{ gates: [1, 2].map(() => ({ name: "a", daemonSets: {} })) }, "spec.gates"],
  "pods of any label": [{ gates: [{ name: "a", pods: { selector: {} } }] }, "spec.gates.0.pods.selector"],
  "samples nobody counts": [
    { gates: [{ name: "a", prometheus: { ...prometheus, minSamples: 5 } }] },
    "spec.gates.0.prometheus.minSamples",
  ],
  "a URL of another kind": [
    { gates: [{ name: "a", prometheus: { ...prometheus, url: "file:///etc/passwd" } }] },
    "spec.gates.0.prometheus.url",
  ],
  "a URL with credentials": [
    { gates: [{ name: "a", prometheus: { ...prometheus, url: "https://me:hunter2@prometheus/" } }] },
    "spec.gates.0.prometheus.url",
  ],
  "a URL with a token": [
    { gates: [{ name: "a", prometheus: { ...prometheus, url: "https://prometheus/?token=hunter2" } }] },
    "spec.gates.0.prometheus.url",
  ],
  "an expression without values": [
    { selector: { matchExpressions: [{ key: "tier", operator: "In" }] } },
    "spec.selector.matchExpressions.0",
  ],
  "a share without a sign": [{ repair: { maxUnhealthy: 40 } }, "spec.repair.maxUnhealthy"],
};
