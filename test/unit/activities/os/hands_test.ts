/**
 * Orders for the operating systems of nodes, and the pods on these nodes that execute them; with an API server in
 * memory.
 */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { Hand } from "../../../../activities/os/hand.ts";
import { givenOrder, osHandOf } from "../../../../activities/os/hands.ts";
import type { OsOrder, OsOutcome } from "../../../../workflows/contracts/mod.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answer, FakeKube, type Stored } from "../../../support/fake_kube.ts";
import { node } from "../../../support/machine_objects.ts";

const [a, b] = ["a", "b"].map((letter) => `sha256:${letter.repeat(64)}`);
const image = `registry.example/hands@${a}`;
const bootId = "00000000-0000-4000-8000-000000000001";
const status = { bootId, booted: a, staged: b, fallback: "" };
const told = { outcome: "Done", reason: "", message: "", ...status, findings: [] };
const second = 1_000;

function order(overrides: Partial<OsOrder> = {}): OsOrder {
  return {
    ...{ node: "w-1", uid: "uid-of-w-1", driver: "bootc", verb: "Stage", image: "registry.example/os/worker" },
    ...{ digest: b ?? "", bootId, token: "t-1", until: Date.now() + 600 * second },
    ...overrides,
  };
}

function kubeWithNode(): FakeKube {
  const kube = new FakeKube();
  kube.put("nodes", node("w-1"));
  return kube;
}

/** Writes a status into the only pod, as the kubelet does. */
function tell(kube: FakeKube, status: Record<string, unknown>): void {
  const [pod] = kube.all("pods");
  if (pod) kube.put("pods", { ...pod, status });
}

const ended = (message: string, exitCode = 0): Record<string, unknown> => ({
  phase: "Succeeded",
  containerStatuses: [{ state: { terminated: { exitCode, message } } }],
});
const begun = { phase: "Running", containerStatuses: [{ state: { running: {} } }] };

/** Lets the pod have this status from the second read on, as the kubelet reports it. */
function answering(kube: FakeKube, status: Record<string, unknown>): void {
  let looks = 0;
  kube.onRequest = (request) => {
    if (request.startsWith("get pods") && ++looks > 1) tell(kube, status);
  };
}

function give(kube: FakeKube, overrides: Partial<OsOrder> = {}, by = image): Promise<OsOutcome> {
  return inActivity(() => givenOrder({ kube: kube.client, image: by }, order(overrides)));
}

/**
 * Executes steps: runs `before`, then reads the pod as if `after` ms had passed. Returns the result of the last read.
 */
async function looks(
  kube: FakeKube,
  asked: OsOrder,
  ...steps: [after: number, before?: () => void][]
): Promise<OsOutcome | string> {
  const hand = new Hand({ kube: kube.client, image }, osHandOf(asked));
  const now = Date.now();
  let seen: Awaited<ReturnType<Hand<OsOutcome>["look"]>> = { missing: "" };
  for (const [after, before] of steps) {
    before?.();
    seen = await hand.look(now + after);
  }
  return "answer" in seen ? seen.answer : seen.missing;
}

const created = (kube: FakeKube): number => kube.writes.filter((write) => write.startsWith("create pods")).length;

Deno.test("givenOrder: creates one pod on the node, reads its result, and deletes the pod", async () => {
  const kube = kubeWithNode();
  answering(kube, ended(JSON.stringify(told)));
  deepEqual(await give(kube), { outcome: "Done", status, findings: [] });
  equal(created(kube), 1);
  deepEqual(kube.all("pods"), []);
});

Deno.test("H11 givenOrder: its pod is bound to the node, tolerates all taints, has no token, is deleted with the node, and gets its order only as container arguments", async () => {
  const kube = kubeWithNode();
  const asked = order();
  await looks(kube, asked, [0]);
  const [pod] = kube.all("pods") as (Stored & { spec: Record<string, unknown> })[];
  equal(pod?.metadata.namespace, "ostler-hands");
  deepEqual(pod?.metadata.ownerReferences, [{ apiVersion: "v1", kind: "Node", name: "w-1", uid: "uid-of-w-1" }]);
  const { containers, ...spec } = pod?.spec ?? {};
  deepEqual(spec, {
    ...{ nodeName: "w-1", tolerations: [{ operator: "Exists" }], priorityClassName: "system-node-critical" },
    ...{
      hostPID: true,
      hostNetwork: true,
      dnsPolicy: "Default",
      restartPolicy: "Never",
      activeDeadlineSeconds: 600,
      terminationGracePeriodSeconds: 5,
    },
    ...{ enableServiceLinks: false, serviceAccountName: "ostler-hand", automountServiceAccountToken: false },
    volumes: [{ name: "scripts", configMap: { name: "ostler-hands-scripts" } }],
  });
  const [hand] = containers as Record<string, unknown>[];
  equal(hand?.["image"], image);
  deepEqual((hand?.["args"] as string[]).slice(0, 5), ["bootc", "Stage", "registry.example/os/worker", b, bootId]);
  equal((hand?.["args"] as string[])[6], String(Math.ceil(asked.until / second)));
  ok(!JSON.stringify(hand?.["command"]).includes("registry.example"));
});

Deno.test("givenOrder: extends the deadline in the annotation and in the arguments when the pod is created after an API outage", async () => {
  const kube = kubeWithNode();
  const asked = order({ until: Date.now() + 60 * second });
  let isAway = true;
  kube.onRequest = (request) => {
    if (isAway && request.startsWith("get pods")) throw answer(503, "ServiceUnavailable");
  };
  await looks(kube, asked, [0], [300 * second, () => isAway = false]);
  const [pod] = kube.all("pods");
  const { annotations = {} } = pod?.metadata ?? {};
  const [hand] = (pod?.spec as { containers: { args: string[] }[] }).containers;
  const until = Date.parse(String(annotations["ostler.dev/until"]));
  ok(until >= asked.until + 300 * second, annotations["ostler.dev/until"]);
  equal(hand?.args[6], String(Math.ceil(until / second)));
});

Deno.test("givenOrder: refuses arguments of an unexpected form", async () => {
  const wrong: Partial<OsOrder>[] = [
    ...["registry.example/os:latest", "registry.example/os@sha256:0", "-v", "a;b/c", "a/$(id)", "a b/c"].map((
      image,
    ) => ({
      image,
    })),
    ...[{ digest: "sha256:0" }, { digest: `${b}\n` }, { bootId: "1" }, { token: "A" }, { token: "" }],
    ...[{ node: "../x" }, { verb: "Apply", bootId: "" } as const, { driver: "sh" as never }, { until: NaN }],
    { driver: "ostree", image: "--repo=x" },
  ];
  for (const overrides of wrong) {
    const kube = kubeWithNode();
    await rejects(give(kube, overrides), { type: "ObjectInvalid" }, JSON.stringify(overrides));
    deepEqual(kube.writes, []);
  }
});

Deno.test("givenOrder: refuses an order when setting hands-image does not name an image by digest", async () => {
  for (const tag of ["", "registry.example/hands:1", "registry.example/hands@sha256:0"]) {
    const kube = kubeWithNode();
    const outcome = await give(kube, {}, tag);
    equal(outcome.outcome === "Refused" ? outcome.reason : "", "DriverMissing");
    deepEqual(kube.writes, []);
  }
});

Deno.test("givenOrder: fails as MachineGone for a deleted node, and for another node with its name", async () => {
  await rejects(give(new FakeKube()), { type: "MachineGone" });
  const kube = kubeWithNode();
  await rejects(give(kube, { uid: "of-before" }), {
    type: "MachineGone",
    message: /uid is "uid-of-w-1", not "of-before"/,
  });
  equal(created(kube), 0);
});

Deno.test("givenOrder: reads the result of the pod that a previous attempt created, also after the deadline", async () => {
  const kube = kubeWithNode();
  const asked = order();
  await looks(kube, asked, [0]);
  tell(kube, ended(JSON.stringify(told)));
  equal((await looks(kube, asked, [700 * second]) as OsOutcome).outcome, "Done");
  equal(created(kube), 1);
});

Deno.test("givenOrder: uses different pods for different boots, attempts, verbs and nodes, and the same pod when only the deadline differs", () => {
  const names = [{}, { bootId: bootId.replace("1", "2") }, { token: "t-2" }, { verb: "Status" as const }, { uid: "u" }]
    .map((overrides) => osHandOf(order(overrides)).name);
  equal(new Set(names).size, names.length);
  equal(osHandOf(order({ until: 1 })).name, names[0]);
});

Deno.test("givenOrder: returns Unknown, and deletes the pod, when the kubelet has not started the pod by the deadline", async () => {
  const kube = kubeWithNode();
  const pulling = { phase: "Pending", containerStatuses: [{ state: { waiting: { reason: "ImagePullBackOff" } } }] };
  const outcome = await looks(kube, order(), [0], [60 * second, () => tell(kube, pulling)], [601 * second]);
  const { message, ...rest } = outcome as OsOutcome & { message: string };
  deepEqual(rest, { outcome: "Unknown" });
  match(
    message,
    /^Node "w-1" did not report a result: pod "ostler-stage-[0-9a-f]{24}" has not started \(ImagePullBackOff\)$/,
  );
  deepEqual(kube.all("pods"), []);
});

Deno.test("givenOrder: replaces an evicted or deleted pod after a pause, up to a limit", async () => {
  const kube = kubeWithNode();
  const evicted = (): void =>
    tell(kube, { phase: "Failed", reason: "Evicted", message: "The node was low on resource" });
  const rounds = [1, 2, 3, 4].flatMap((round): [number, (() => void)?][] => [
    [round * 100 * second, evicted],
    [round * 100 * second + 1],
    [round * 100 * second + 31 * second],
  ]);
  const outcome = await looks(kube, order(), [0], ...rounds.slice(0, 2));
  match(
    String(outcome),
    /^waiting to create another pod for this step: pod "\S+" ended without a result \(Evicted: The node was low on resource\)$/,
  );
  const last = await looks(kube, order({ token: "t-2" }), [0], ...rounds.slice(0, 10));
  equal((last as OsOutcome).outcome, "Unknown");
  equal(created(kube), 1 + 4);
});

Deno.test("givenOrder: creates no second pod that could boot the node again, after the first one has started", async () => {
  for (const verb of ["Apply", "GoBack"] as const) {
    for (const state of ["gone", "cut off"]) {
      const kube = kubeWithNode();
      const lost = (): void => {
        const [pod] = kube.all("pods");
        if (state === "gone") kube.remove("pods", pod?.metadata.name ?? "", "ostler-hands");
        else tell(kube, ended("", 137));
      };
      const outcome = await looks(kube, order({ verb }), [0], [1, () => tell(kube, begun)], [2, lost]);
      equal((outcome as OsOutcome).outcome, "Unknown");
      equal(created(kube), 1);
    }
  }
});

Deno.test("givenOrder: creates another pod for the download when the first one vanished", async () => {
  const kube = kubeWithNode();
  const gone = (): void => kube.remove("pods", kube.all("pods")[0]?.metadata.name ?? "", "ostler-hands");
  await looks(kube, order(), [0], [1, () => tell(kube, begun)], [60 * second, gone]);
  equal(created(kube), 2);
});

/**
 * Returns steps for `looks`: the API server is down from 100 s to an hour after the first read; then the kubelet
 * reports this status.
 */
function anHourAway(kube: FakeKube, status: Record<string, unknown>): [after: number, before?: () => void][] {
  const away = (): void => {
    kube.onRequest = () => {
      throw answer(503, "ServiceUnavailable");
    };
  };
  const back = (): void => {
    kube.onRequest = () => undefined;
    tell(kube, status);
  };
  return [[0], [100 * second, away], [3600 * second], [3601 * second, back]];
}

Deno.test("givenOrder: waits for an API server that is down, however long, and reads the result afterwards", async () => {
  const kube = kubeWithNode();
  const steps = anHourAway(kube, ended(JSON.stringify(told)));
  match(
    String(await looks(kube, order(), ...steps.slice(0, 3))),
    /^Failed to run OS operation "Stage" on node "w-1": HTTP 503/,
  );
  equal((await looks(kube, order(), ...steps.slice(3)) as OsOutcome).outcome, "Done");
});

Deno.test("givenOrder: adds the time in which the API server could not be read to the deadline by which the node must report", async () => {
  const kube = kubeWithNode();
  match(String(await looks(kube, order(), ...anHourAway(kube, begun))), /^pod "\S+" is running$/);
  const outcome = await looks(kube, order(), ...anHourAway(kube, begun), [4200 * second]);
  equal((outcome as OsOutcome).outcome, "Unknown");
});

Deno.test("givenOrder: fails as AccessDenied when the worker is forbidden to create pods", async () => {
  const kube = kubeWithNode();
  kube.onRequest = (request) => {
    if (request.startsWith("create pods")) throw answer(403, "Forbidden", "not by you");
  };
  await rejects(looks(kube, order(), [0]), { type: "AccessDenied" });
});

Deno.test("givenOrder: deletes pods of Ostler that are an hour past their deadline, and no other pods", async () => {
  const kube = kubeWithNode();
  const labels = {
    ...{ "app.kubernetes.io/name": "ostler", "app.kubernetes.io/component": "hand" },
    "app.kubernetes.io/managed-by": "ostler",
  };
  const put = (name: string, untilMs: number, own = labels as Record<string, string>): void => {
    const annotations = { "ostler.dev/until": new Date(untilMs).toISOString() };
    kube.put("pods", { metadata: { namespace: "ostler-hands", name, labels: own, annotations } });
  };
  put("left", Date.now() - 3600 * second);
  put("late", Date.now() - 60 * second);
  put("other", Date.now() - 3600 * second, { app: "x" });
  await looks(kube, order(), [0]);
  deepEqual(kube.writes.filter((write) => write.startsWith("delete")), ["delete pods ostler-hands/left"]);
});
