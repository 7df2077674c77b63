import { KubeConfig } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import type { Connection } from "../../../../deploy/local/cloud/kube.ts";
import { Link } from "../../../../deploy/local/cloud/link.ts";
import { Hopeless } from "../../../../deploy/local/cloud/patience.ts";
import { PodRunner } from "../../../../deploy/local/cloud/pod_runner.ts";
import type { CloudScript } from "../../../../deploy/local/cloud/script.ts";
import { eventually } from "../../../support/eventually.ts";

/** One new pod whose status cannot be written, for a reason that no further attempt changes. */
function refusing(reason: string): Connection {
  const config = new KubeConfig();
  config.loadFromClusterAndUser({ name: "c", server: "https://127.0.0.1:1", skipTLSVerify: false }, { name: "u" });
  const items = [{ metadata: { namespace: "default", name: "web-1", uid: "u-1" }, status: { phase: "Pending" } }];
  const core = {
    listPodForAllNamespaces: () => Promise.resolve({ metadata: { resourceVersion: "1" }, items }),
    patchNamespacedPodStatus: () => Promise.reject(new Hopeless(reason)),
  };
  return { config, core } as unknown as Connection;
}

Deno.test("PodRunner: logs why it failed to update the status of a pod", async () => {
  const ended = new AbortController();
  const lines: string[] = [];
  const runner = new PodRunner({
    ...{ connection: refusing("admission denied the request"), nodeName: "n", address: "10.0.0.1", ordinal: 1 },
    ...{ link: new Link(), script: () => ({ podStartSeconds: 0 }) as CloudScript, signal: ended.signal },
    log: (line) => void lines.push(line),
  });
  await runner.start();
  const line = await eventually("the failure", () => lines.find((each) => each.startsWith("failed")));
  ended.abort();
  assert.equal(line, 'failed to update pod "default/web-1": admission denied the request');
});
