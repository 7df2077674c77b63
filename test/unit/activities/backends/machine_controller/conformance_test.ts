import { openCluster } from "../../../../../activities/cluster.ts";
import { machineController } from "../../../../../activities/backends/machine_controller/mod.ts";
import { answer, FakeKube, type Stored } from "../../../../support/fake_kube.ts";
import { interrupted } from "../../../../support/interrupted.ts";
import {
  hold,
  holder,
  machine,
  machineDeployment,
  machineSet,
  mark,
  node,
  pool,
  providerConfig,
  revisionKey,
} from "../../../../support/machine_objects.ts";
import { prove, type Scene } from "../conformance.ts";

const answers = {
  Forbidden: answer(403, "Forbidden"),
  Throttled: answer(429, "TooManyRequests"),
  Invalid: answer(422, "Invalid"),
};

function templateOf(image: string): object {
  return { metadata: { labels: { pool: "pool" } }, spec: { providerSpec: { value: providerConfig(image) } } };
}

/** A pool at revision 2, with revision 1 as the last good one. */
function kubeWithPool(): FakeKube {
  const kube = new FakeKube();
  const good = { templateHash: "hash-1", revision: "1", image: "a:1", kubelet: "1", configDigest: "d", specHash: "" };
  const spec = { selector: { matchLabels: { pool: "pool" } }, template: templateOf("a:2") };
  kube.put("machinedeployments", machineDeployment({ annotations: { [revisionKey]: "2" }, spec }));
  kube.put("machinesets", { ...machineSet("1", "hash-1"), spec: { template: templateOf("a:1") } });
  kube.put("machinesets", { ...machineSet("2", "hash-2"), spec: { template: templateOf("a:2") } });
  kube.put("rollouts", { metadata: { ...pool }, status: { lastGood: good } });
  kube.put("machines", machine("serving"));
  const annotations = { [hold]: holder, [mark]: holder };
  kube.put("machines", machine("leaving", { annotations, metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }));
  kube.put(
    "machines",
    machine("held", { hash: "hash-2", annotations: { [hold]: holder }, finalizers: [], status: {} }),
  );
  for (const name of ["serving", "leaving"]) kube.put("nodes", cordoned(`node-${name}`));
  return kube;
}

function cordoned(name: string): Stored {
  const { metadata, ...rest } = node(name);
  return {
    ...rest,
    metadata: { ...metadata, annotations: { "ostler.dev/cordoned-by": holder } },
    spec: { unschedulable: true },
  };
}

function scene(): Scene {
  const kube = kubeWithPool();
  const { clients } = kube;
  return {
    ...{ pool, place: { profileNamespace: "kube-system" }, held: "held" },
    serving: { machine: "serving", node: "node-serving" },
    leaving: { machine: "leaving", node: "node-leaving" },
    backend: (interruption, onCall = () => {}) =>
      machineController(openCluster(interruption ? interrupted(clients, interruption, onCall) : clients)),
    dump: () => standing(kube),
    clear: () => {
      for (const name of ["serving", "leaving", "held"]) kube.remove("machines", name, "fleet");
      for (const name of ["hash-1", "hash-2"]) kube.remove("machinesets", `pool-${name}`, "fleet");
      kube.remove("machinedeployments", "pool", "fleet");
    },
    answerAll: (which) => {
      kube.onRequest = () => {
        throw answers[which];
      };
    },
  };
}

function standing(kube: FakeKube): string {
  const kinds = ["machinedeployments", "machinesets", "machines", "nodes", "rollouts"];
  const objects = kinds.flatMap((kind) =>
    kube.all(kind).map(({ metadata, ...rest }) => {
      const { resourceVersion: _version, creationTimestamp: _created, ...said } = metadata;
      return JSON.stringify([kind, sorted(said), sorted(rest)]);
    })
  );
  return objects.sort().join("\n");
}

// Key order is ignored, because an annotation that is set again moves within the object.
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, of]) => [key, sorted(of)]),
  );
}

prove("machine-controller", scene);
