import { equal } from "node:assert/strict";
import { factsOf } from "../../../../activities/node/node_facts.ts";
import { node } from "../../../support/machine_objects.ts";

const written = "2026-01-01T12:00:00Z";
/** The key of condition Ready in managed fields. */
const readyKey = 'k:{"type":"Ready"}';

interface Case {
  /** Times by the clock of the node. */
  transition: string;
  beat: string | null;
  /** The manager that wrote the status of the condition; the kubelet wrote the heartbeat. */
  by?: "kubelet" | "kube-controller-manager";
}

/** Returns since when a node is NotReady whose status its kubelet wrote at `written` by the API server's clock. */
function sinceOf({ transition, beat, by = "kubelet" }: Case): string {
  const { metadata, status } = node("w", { ready: false, since: transition });
  const [ready] = (status as { conditions: object[] }).conditions;
  const own = (manager: string, fields: object): object => ({
    ...{ manager, operation: "Update", subresource: "status", time: written },
    fieldsV1: { "f:status": { "f:conditions": { [readyKey]: fields } } },
  });
  const judged = { "f:status": {}, "f:lastTransitionTime": {} };
  const managedFields = [
    own("kubelet", { "f:lastHeartbeatTime": {}, ...(by === "kubelet" ? judged : {}) }),
    ...(by === "kubelet" ? [] : [own(by, judged)]),
  ];
  const conditions = [{ ...ready, lastHeartbeatTime: beat }];
  const found = factsOf({ metadata: { ...metadata, managedFields }, status: { conditions } } as never);
  equal(found.conditions[0]?.since, found.since);
  return new Date(found.since).toISOString();
}

Deno.test("factsOf: counts a NotReady state by the API server's clock if the kubelet's clock is wrong", () => {
  equal(sinceOf({ transition: "2026-01-01T07:00:00Z", beat: "2026-01-01T07:01:00Z" }), "2026-01-01T11:59:00.000Z");
  equal(sinceOf({ transition: "2026-01-01T15:00:00Z", beat: "2026-01-01T15:30:00Z" }), "2026-01-01T11:30:00.000Z");
});

Deno.test("factsOf: keeps the time of a transition that the cluster wrote, or that a kubelet wrote with a good clock", () => {
  const transition = "2026-01-01T11:00:00Z";
  const by = "kube-controller-manager";
  equal(sinceOf({ transition, beat: "2026-01-01T07:01:00Z", by }), "2026-01-01T11:00:00.000Z");
  equal(sinceOf({ transition, beat: "2026-01-01T11:59:30Z" }), "2026-01-01T11:00:00.000Z");
});

Deno.test("factsOf: keeps the time of a transition without a heartbeat, which the API server returns as null", () => {
  equal(sinceOf({ transition: "2026-01-01T11:00:00Z", beat: null }), "2026-01-01T11:00:00.000Z");
});

Deno.test("factsOf: keeps the time of a transition that is newer than the heartbeat, as for a kubelet that never reported", () => {
  equal(sinceOf({ transition: "2026-01-01T11:05:00Z", beat: "2026-01-01T11:00:00Z" }), "2026-01-01T11:05:00.000Z");
});
