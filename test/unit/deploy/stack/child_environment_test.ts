import assert from "node:assert/strict";
import { childEnvironment } from "../../../../deploy/local/process/supervised_process.ts";

Deno.test("childEnvironment: omits variables that would reconfigure etcd, Kubernetes or Temporal", () => {
  const own = {
    PATH: "/bin",
    ETCD_DATA_DIR: "/elsewhere",
    KUBECONFIG: "/home/someone/config",
    KUBERNETES_SERVICE_HOST: "10.0.0.1",
    TEMPORAL_ADDRESS: "production:7233",
    ABSENT: undefined,
  };
  assert.deepEqual(childEnvironment({ POD_NAMESPACE: "kube-system" }, own), {
    PATH: "/bin",
    POD_NAMESPACE: "kube-system",
  });
});
