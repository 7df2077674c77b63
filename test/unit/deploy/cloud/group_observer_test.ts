/** Tests that the observer of scaling groups reports each broken guarantee and each failed read. */
import { deepEqual, ok } from "node:assert/strict";
import { GroupApi } from "../../../../deploy/local/cloud/groups/group_api.ts";
import { GroupCloud } from "../../../../deploy/local/cloud/groups/group_cloud.ts";
import { GroupObserver } from "../../../../deploy/local/cloud/groups/group_observer.ts";
import { eventually } from "../../../support/eventually.ts";

const spec = {
  ...{ id: "g", name: "workers", autoscalerName: "workers", role: "Worker" as const, min: 0, max: 9, size: 3 },
  ...{ zones: ["a", "b", "c"], template: { image: "image-1" } },
};

/** A cluster whose nodes are all Ready; `pods` run on them. */
class Scene implements AsyncDisposable {
  readonly cloud = new GroupCloud();
  readonly shown: GroupApi;
  readonly pods: object[] = [];
  isAway = false;

  constructor() {
    this.cloud.create(spec);
    this.shown = new GroupApi(this.cloud);
  }

  list<T>(path: string): Promise<T[]> {
    if (this.isAway) return Promise.reject(new Error("connection refused"));
    const conditions = [{ type: "Ready", status: "True" }];
    const nodes = this.cloud.instances().filter(({ state }) => state !== "Terminated").map(({ node, providerId }) => ({
      ...{ metadata: { name: node }, spec: { providerID: providerId }, status: { conditions } },
    }));
    return Promise.resolve((path === "/api/v1/nodes" ? nodes : this.pods) as T[]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shown[Symbol.asyncDispose]();
  }
}

/** Makes a change, waits until the observer has taken a snapshot after the change, and returns the violations. */
async function brokenBy(change: (scene: Scene, observer: GroupObserver) => void): Promise<string[]> {
  await using scene = new Scene();
  using observer = new GroupObserver({ admin: scene, everyMs: 5, isStrict: true }, scene, { workers: 1 });
  await eventually("a first snapshot", () => observer.looks > 0);
  deepEqual(observer.broken, []);
  change(scene, observer);
  const before = observer.looks;
  const isSeen = (): boolean => observer.looks > before + 1 || observer.broken.length > 0 || scene.isAway;
  await eventually("a snapshot of the change", isSeen);
  return [...observer.broken];
}

Deno.test("fault G15: GroupObserver: reports a zone without a Ready node when a replacement is created in another zone", async () => {
  const broken = await brokenBy(({ cloud }) => {
    const [first, second] = cloud.instances();
    const group = cloud.group(spec.id);
    if (group) cloud.order(group, "t", second?.zone);
    cloud.remove(first?.providerId ?? "", true);
  });
  ok(broken.some((line) => line.startsWith("workers: 0 Ready in zone")), broken.join("; "));
});

Deno.test("fault G15: GroupObserver: reports an instance that is deleted before its node is drained", async () => {
  const pod = (name: string, nodeName: string, kind: string): object => ({
    ...{ metadata: { name, ownerReferences: [{ kind }] }, spec: { nodeName }, status: { phase: "Running" } },
  });
  const broken = await brokenBy(({ cloud, pods }) => {
    const [{ providerId, node } = { providerId: "", node: "" }] = cloud.instances();
    pods.push(pod("db", node, "StatefulSet"), pod("agent", node, "DaemonSet"));
    cloud.remove(providerId, false);
  });
  const finding = `the instance of node "workers-1" is being deleted, but these pods still run on it: "db"`;
  ok(broken.includes(finding), broken.join("; "));
});

Deno.test("fault G15: GroupObserver: reports a failed read of the cloud or the cluster, unless reads may fail", async () => {
  for (const mayFail of [false, true]) {
    await using scene = new Scene();
    using observer = new GroupObserver({ admin: scene, everyMs: 5 }, scene, { workers: 1 });
    observer.mayFail = mayFail;
    scene.isAway = true;
    await eventually("failed reads", () => observer.failures > 1);
    deepEqual(observer.broken, mayFail ? [] : ["Failed to read the cloud or the cluster: Error: connection refused"]);
  }
});
