import assert from "node:assert/strict";
import { thingsToTry } from "../../../../deploy/local/demo/demo.ts";
import type { Site } from "../../../../deploy/local/site/site.ts";

Deno.test("thingsToTry: lists logs and addresses, and commands with the paths of their tools", () => {
  const temporal = { address: "127.0.0.1:1", uiUrl: "http://127.0.0.1:2", namespace: "default" };
  const stack = { directory: "/tmp/d", adminKubeconfig: "/tmp/d/admin.yaml", temporal } as Site["stack"];
  const text = thingsToTry({ stack }, { kubectl: "/opt/a/kubectl", temporal: "/opt/b/temporal-cli" });
  for (
    const part of [
      "/tmp/d/logs",
      "http://127.0.0.1:2",
      "export KUBECONFIG=/tmp/d/admin.yaml TEMPORAL_ADDRESS=127.0.0.1:1",
      'export PATH="/opt/a:/opt/b:$PATH"',
      "kubectl -n kube-system get rollouts,machines",
      "temporal-cli workflow query --workflow-id machine-deployment/kube-system/pool --type progress",
    ]
  ) assert.ok(text.includes(part), part);
});
