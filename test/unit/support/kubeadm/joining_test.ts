import assert from "node:assert/strict";
import { parseCloudConfig } from "../../../../deploy/local/cloud/boot/cloud_config.ts";
import { GroupCloud, type GroupSpec } from "../../../../deploy/local/cloud/groups/group_cloud.ts";
import type { JoinService } from "../../../../deploy/local/cloud/groups/join_service.ts";
import { ClusterKeys } from "../../../support/kubeadm/cluster_keys.ts";
import { joinByKubeadm } from "../../../support/kubeadm/joining.ts";

const group: GroupSpec = {
  ...{ id: "control", name: "control", autoscalerName: "control", role: "ControlPlane", min: 1, max: 9, size: 2 },
  ...{ zones: ["a"], template: { image: "image-1" } },
};

Deno.test("joinByKubeadm: lets the first control plane create the cluster, and gives workers no CA key", async () => {
  const keys = await ClusterKeys.create();
  const cloud = new GroupCloud();
  cloud.create(group);
  cloud.create({ ...group, id: "workers", name: "workers", role: "Worker", size: 1 });
  const announced: string[] = [];
  const joinService = {
    cluster: { server: "https://192.0.2.1:6443", caData: btoa(keys.cluster.certificatePem) },
    announce: (node: string) => Promise.resolve(void announced.push(node)),
    takeTurn: (node: string) => Promise.resolve(void announced.push(`plane ${node}`)),
    ticket: () => Promise.resolve("abc.secret"),
  } as unknown as JoinService;
  const shape = {
    ...{ endpoint: "192.0.2.1:6443", podNetwork: "10.244.0.0/16", imageRepository: "x/y", hasCgroupV2: true },
    version: "v1.36.1",
  };
  const accepted = (): Promise<string> => Promise.resolve("c");
  const host = { settings: {}, poolAnnotations: {} };
  const joining = await joinByKubeadm({ cloud, keys, shape, accepted }, {
    host,
    kubelets: { c: "1.36.1" },
    joinService,
  });
  const booted = await Promise.all(
    cloud.instances().map(async (instance) => {
      return parseCloudConfig(await joining.userData(instance, "c"), "user-data").files;
    }),
  );
  const commands = booted.map((files) => /^kubeadm .*$/m.exec(files.get("/opt/bin/join")?.content ?? "")?.[0]);
  const rest = " --config /etc/kubernetes/kubeadm.yaml";
  assert.deepEqual(commands, [`kubeadm init${rest}`, `kubeadm join${rest}`, `kubeadm join${rest}`]);
  const [, plane, worker] = booted.map((files) => files.get("/etc/kubernetes/kubeadm.yaml")?.content ?? "");
  assert.ok(plane?.includes('"controlPlane":{}') && !worker?.includes("controlPlane"));
  assert.deepEqual(announced.sort(), ["plane control-2", "workers-3"]);
  const withKeys = booted.map((files) => [...files.values()].some(({ content }) => content.includes("PRIVATE KEY")));
  assert.deepEqual(withKeys, [true, true, false]);
});
