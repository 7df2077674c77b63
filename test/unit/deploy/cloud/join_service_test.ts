import { ApiException } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import { JoinService } from "../../../../deploy/local/cloud/groups/join_service.ts";
import type { Connection } from "../../../../deploy/local/cloud/kube.ts";

/** Returns a connection that stores objects by name, as the API server does, and the stored objects. */
function records(): { kept: Map<string, unknown>; connection: Connection } {
  const kept = new Map<string, unknown>();
  const custom = {
    createClusterCustomObject: ({ body }: { body: { metadata: { name: string } } }) => {
      if (kept.has(body.metadata.name)) return Promise.reject(new ApiException(409, "", {}, {}));
      return Promise.resolve(kept.set(body.metadata.name, body));
    },
    getClusterCustomObject: ({ name }: { name: string }) => Promise.resolve(kept.get(name)),
  };
  return { kept, connection: { custom } as unknown as Connection };
}

Deno.test("JoinService: lets one control plane join at a time, accepts its repeated request, and lets worker nodes join concurrently", async () => {
  const { kept, connection } = records();
  const service = new JoinService({ connection, ticketMs: 1_000, signal: new AbortController().signal });
  await service.takeTurn("control-1", "components-1");
  await service.takeTurn("control-1", "components-1");
  await assert.rejects(
    service.takeTurn("control-2", "components-1"),
    /until control plane "control-1" has joined/,
  );
  await service.announce("workers-3", "components-1");
  assert.deepEqual([...kept.keys()], ["control-plane", "workers-3"]);
  kept.delete("control-plane");
  await service.takeTurn("control-2", "components-1");
});
