/** Valid policies, and invalid ones with the field that is reported. */

const prometheus = { url: "http://prometheus:9090", query: "up", operator: "<", threshold: 0.5 };
const store = { keep: "Url", url: "https://backups/etcd" };
const window = { cron: "0 2 * * *", duration: "1h" };

function etcd(snapshot: unknown): object {
  return { etcd: { snapshot } };
}

/** Returns a spec whose snapshots of etcd go to folder `path`, and the field that is reported if `path` is invalid. */
function folder(path: unknown): [spec: unknown, field: string] {
  return [etcd({ keep: "Folder", folder: path }), "spec.etcd.snapshot.folder"];
}

/** Returns a spec whose snapshots of etcd go to URL `text`, and the field that is reported if `text` is invalid. */
function url(text: unknown): [spec: unknown, field: string] {
  return [etcd({ ...store, url: text }), "spec.etcd.snapshot.url"];
}

/** Returns a spec whose snapshots of etcd need this token, and the field that is reported if the token is invalid. */
function token(tokenSecret: unknown, field = "tokenSecret"): [spec: unknown, field: string] {
  return [etcd({ ...store, tokenSecret }), `spec.etcd.snapshot.${field}`];
}

export const usable: Record<string, unknown> = {
  "an empty spec": {},
  "a last wave that does not include all machines": {
    waves: [{ upTo: 1 }, { upTo: "10%" }, { upTo: 7 }, { upTo: "20%" }],
  },
  "growth": { growth: { from: 2, factor: 1.5, soak: "1h30m" } },
  "two windows": { windows: [window, { cron: "0 2 * * SUN#1", duration: "90s", timeZone: "Asia/Kolkata" }] },
  "a Prometheus below a path": { gates: [{ name: "a", prometheus: { ...prometheus, url: "https://x/prom/" } }] },
  "a gate on every DaemonSet": { gates: [{ name: "a", daemonSets: {} }] },
  "a selector with expressions": {
    selector: { matchExpressions: [{ key: "tier", operator: "NotIn", values: ["db"] }] },
  },
  "a limit of 0% unhealthy machines": { repair: { maxUnhealthy: "0%" } },
  "no snapshot of etcd": { etcd: { snapshot: { keep: "None" } } },
  "an empty snapshot of etcd": { etcd: { snapshot: {} } },
  "snapshots in a folder": etcd({ keep: "Folder", folder: "/var/..backups/.etcd-1/" }),
  "snapshots at a URL": etcd({ ...store, url: "https://[fd00::1]:9000/etcd/", tokenSecret: { name: "a.b-1" } }),
};

/** Invalid specs, each with the field that the error message names. */
export const unusable: Record<string, [spec: unknown, field: string]> = {
  "a field that does not exist": [{ wavez: [] }, "spec"],
  "no waves": [{ waves: [] }, "spec.waves"],
  "a wave of 0 machines": [{ waves: [{ upTo: 0 }] }, "spec.waves.0.upTo"],
  "a wave above 100%": [{ waves: [{ upTo: "101%" }] }, "spec.waves.0.upTo"],
  "a wave of half a machine": [{ waves: [{ upTo: 0.5 }] }, "spec.waves.0.upTo"],
  "a count that decreases": [{ waves: [{ upTo: 5 }, { upTo: "10%" }, { upTo: 3 }] }, "spec.waves.2.upTo"],
  "an unchanged count": [{ waves: [{ upTo: 5 }, { upTo: 5 }] }, "spec.waves.1.upTo"],
  "a percentage that decreases": [{ waves: [{ upTo: "50%" }, { upTo: "5%" }] }, "spec.waves.1.upTo"],
  "waves and growth": [{ waves: [{ upTo: 1 }], growth: {} }, "spec.growth"],
  "a growth factor of 1": [{ growth: { factor: 1 } }, "spec.growth.factor"],
  "a duration without a unit": [{ drain: { timeout: "15" } }, "spec.drain.timeout"],
  "an empty duration": [{ drain: { timeout: "" } }, "spec.drain.timeout"],
  "a timeout of 0": [{ drain: { timeout: "0m" } }, "spec.drain.timeout"],
  "a window with duration 0": [{ windows: [{ ...window, duration: "0h0m" }] }, "spec.windows.0.duration"],
  "a cron expression with six fields": [{ windows: [{ ...window, cron: "0 0 2 * * *" }] }, "spec.windows.0.cron"],
  "a cron expression in words": [{ windows: [{ ...window, cron: "at two every night now" }] }, "spec.windows.0.cron"],
  "a cron expression with a question mark": [{ windows: [{ ...window, cron: "? 2 * * *" }] }, "spec.windows.0.cron"],
  "a cron expression that never matches": [{ windows: [{ ...window, cron: "0 2 30 2 *" }] }, "spec.windows.0.cron"],
  "an unknown time zone": [{ windows: [{ ...window, timeZone: "Mars/Base" }] }, "spec.windows.0.timeZone"],
  "a gate without a check": [{ gates: [{ name: "a" }] }, "spec.gates.0"],
  "a gate with two checks": [{ gates: [{ name: "a", daemonSets: {}, job: { cronJob: "b" } }] }, "spec.gates.0"],
  "two gates with one name": [{ gates: [1, 2].map(() => ({ name: "a", daemonSets: {} })) }, "spec.gates"],
  "pods with an empty selector": [{ gates: [{ name: "a", pods: { selector: {} } }] }, "spec.gates.0.pods.selector"],
  "minSamples without a samples query": [
    { gates: [{ name: "a", prometheus: { ...prometheus, minSamples: 5 } }] },
    "spec.gates.0.prometheus.minSamples",
  ],
  "a URL with another scheme": [
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
  "a percentage without its sign": [{ repair: { maxUnhealthy: 40 } }, "spec.repair.maxUnhealthy"],
  "snapshots without TLS": [etcd({ ...store, url: "http://backups/etcd" }), "spec.etcd.snapshot.url"],
  "snapshots without TLS for a host that is named like an address": [
    etcd({ ...store, url: "http://127.example.com/etcd" }),
    "spec.etcd.snapshot.url",
  ],
  "snapshots in another store": [etcd({ keep: "Bucket" }), "spec.etcd.snapshot.keep"],
  "a snapshot as text": [etcd("https://me:hunter2@backups/"), "spec.etcd.snapshot"],
  "a missing folder": [etcd({ keep: "Folder" }), "spec.etcd.snapshot.folder"],
  "a folder without keep": [etcd({ folder: "/var/backups" }), "spec.etcd.snapshot.folder"],
  "a folder beside a URL": [etcd({ ...store, folder: "/var/backups" }), "spec.etcd.snapshot.folder"],
  "a URL beside a folder": [etcd({ ...store, keep: "Folder", folder: "/f" }), "spec.etcd.snapshot.url"],
  "a missing URL": [etcd({ keep: "Url" }), "spec.etcd.snapshot.url"],
  "a URL with keep None": [etcd({ ...store, keep: "None" }), "spec.etcd.snapshot.url"],
  "a relative folder": folder("var/backups"),
  "the root folder": folder("/"),
  "an empty folder": folder(""),
  "a folder with ..": folder("/var/backups/../../etc"),
  "a folder with .. at its end": folder("/var/backups/.."),
  "a folder with .": folder("/var/./backups"),
  "a folder with two slashes": folder("/var//backups"),
  "a folder with a line break": folder("/var/backups\n"),
  "a folder with a null character": folder("/var/backups\0/etcd"),
  "a folder of more than 512 characters": folder(`/${"a".repeat(512)}`),
  "a folder that is a URL": folder("https://me:hunter2@backups/"),
  "a store with another scheme": url("file:///etc/kubernetes"),
  "a store with credentials": url("https://me:hunter2@backups/"),
  "a store with a token": url("https://backups/?token=hunter2"),
  "a store without a host": url("https:///etcd"),
  "a store with an invalid port": url("https://backups:99999/etcd"),
  "a token without a URL": [
    etcd({ keep: "Folder", folder: "/f", tokenSecret: { name: "a" } }),
    "spec.etcd.snapshot.tokenSecret",
  ],
  "a token in place of a reference": token("hunter2"),
  "a token without a Secret": token({ key: "token" }, "tokenSecret.name"),
  "a token in place of a name": token({ name: "hunter2=" }, "tokenSecret.name"),
  "a Secret name with ..": token({ name: "a/../../b" }, "tokenSecret.name"),
  "a Secret name with an empty label": token({ name: "a..b" }, "tokenSecret.name"),
  "a Secret in another namespace": token({ name: "a", namespace: "kube-system" }),
  "a key with ..": token({ name: "a", key: "../token" }, "tokenSecret.key"),
};
