import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { EtcdSurvey } from "../../../../workflows/contracts/mod.ts";
import { moveLeadership } from "../../../../activities/etcd/leadership.ts";
import { promoteLearner, removeMember } from "../../../../activities/etcd/membership.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answering, type FakeEtcd, json, Refused, type Reply, withFakeEtcd } from "../../../support/fake_etcd.ts";

/** Returns the header of a response from the member with this ID; member "1" leads. */
const header = (id: string) => ({ cluster_id: "9", member_id: id });
const statusOf = (id: string) => ({ header: header(id), version: "3.6.4", leader: "1", raftTerm: "2", raftIndex: "9" });
const memberOf = (id: string, isLearner: boolean) => ({ ID: id, name: `cp-${id}`, isLearner });

/** Runs `story` with two etcd members, each with its own endpoint: "1" is a voter and leads, "2" is `other`. */
async function withTwo(
  { other, answers }: { other: { isLearner: boolean }; answers: Record<string, unknown> },
  story: (etcd: FakeEtcd & { survey: EtcdSurvey; orders: () => string[] }) => Promise<void>,
): Promise<void> {
  const members = [memberOf("1", false), memberOf("2", other.isLearner)];
  const known = { "cluster/member/list": { header: header("1"), members }, "maintenance/alarm": {} };
  await withFakeEtcd(answering({ "maintenance/status": statusOf("2") }), async (second) => {
    const first = answering({ ...answers, ...known, "maintenance/status": statusOf("1") });
    await withFakeEtcd(first, async (etcd) => {
      const endpoints = [etcd.endpoint, second.endpoint];
      const orders = () => [...etcd.asked, ...second.asked].filter((asked) => !/list|status|alarm/.test(asked));
      await story({ ...etcd, orders, survey: { members: [], leader: "", alarms: [], endpoints } });
    });
  });
}

const outcomes: [string, unknown, unknown][] = [
  ["done", {}, "Promoted"],
  [
    "not in sync",
    new Refused("etcdserver: can only promote a learner member which is in sync with leader"),
    "NotInSync",
  ],
  ["a member that became a voter meanwhile", new Refused("etcdserver: can only promote a learner member"), "Voter"],
  ["a member that was removed meanwhile", new Refused("etcdserver: member not found", 5, 404), "Absent"],
];

for (const [what, answer, outcome] of outcomes) {
  Deno.test(`promoteLearner: translates the answer of etcd into an outcome: ${what}`, async () => {
    const answers = { "cluster/member/promote": answer };
    await withTwo({ other: { isLearner: true }, answers }, async ({ access, survey, orders }) => {
      equal(await promoteLearner(access, survey, "2"), outcome);
      deepEqual(orders(), ['/v3/cluster/member/promote {"ID":"2"}'], "Expected one request to the leader");
    });
  });
}

Deno.test("promoteLearner: sends no request for a member that is already a voter, because etcd would answer that the learner is not in sync", async () => {
  await withTwo({ other: { isLearner: false }, answers: {} }, async ({ access, survey, orders }) => {
    deepEqual([await promoteLearner(access, survey, "2"), await promoteLearner(access, survey, "3")], [
      "Voter",
      "Absent",
    ]);
    deepEqual(orders(), []);
  });
});

Deno.test("removeMember: succeeds when the member does not exist, and is retried when the etcd cluster is unhealthy", async () => {
  const remove = (answer: unknown) => ({ other: { isLearner: true }, answers: { "cluster/member/remove": answer } });
  await withTwo(remove({}), async ({ access, survey, orders }) => {
    equal(await removeMember(access, survey, "2"), "Removed");
    deepEqual(orders(), ['/v3/cluster/member/remove {"ID":"2"}']);
  });
  const gone = new Refused("etcdserver: member not found", 5, 404);
  await withTwo(remove(gone), async ({ access, survey }) => equal(await removeMember(access, survey, "2"), "Absent"));
  const unwell = new Refused("etcdserver: unhealthy cluster", 14, 503);
  await withTwo(remove(unwell), async ({ access, survey }) => {
    await rejects(removeMember(access, survey, "2"), { type: "ApiUnavailable", message: /unhealthy cluster"$/ });
  });
});

Deno.test("removeMember: sends its request once, and fails as ApiUnavailable when the connection breaks before the answer", async () => {
  let orders = 0;
  const members = [memberOf("1", false), memberOf("2", true)];
  const known = { "cluster/member/list": { header: header("1"), members }, "maintenance/status": statusOf("1") };
  const reply: Reply = (asked, response, request) => {
    if (!asked.includes("/remove")) return answering({ ...known, "maintenance/alarm": {} })(asked, response, request);
    orders++;
    request.socket.destroy();
  };
  await withFakeEtcd(reply, async ({ access, endpoint }) => {
    const survey = { members: [], leader: "", alarms: [], endpoints: [endpoint] };
    await rejects(removeMember(access, survey, "2"), { type: "ApiUnavailable", message: /cannot be reached/ });
    equal(orders, 1);
  });
});

Deno.test("etcd orders: no request that changes etcd is sent after the activity was cancelled", async () => {
  const cancel = new AbortController();
  const reply: Reply = (asked, response) => {
    if (!asked.includes("/alarm")) return json(response, answersOfOne[asked.split(" ")[0] ?? ""] ?? {});
    json(response, {});
    cancel.abort();
  };
  await withFakeEtcd(reply, async ({ access, endpoint, asked }) => {
    const survey = { members: [], leader: "", alarms: [], endpoints: [endpoint] };
    const removal = inActivity(() => removeMember(access, survey, "2"), { cancel: cancel.signal });
    await rejects(removal, { name: "CancelledFailure" });
    ok(!asked.some((each) => each.includes("/remove")));
  });
});

const answersOfOne: Record<string, unknown> = {
  "/v3/cluster/member/list": { header: header("1"), members: [memberOf("1", false), memberOf("2", true)] },
  "/v3/maintenance/status": statusOf("1"),
};

Deno.test("moveLeadership: sends no request when the member does not lead, and fails when no other voter is healthy", async () => {
  await withTwo({ other: { isLearner: true }, answers: {} }, async ({ access, survey, orders }) => {
    const message = 'Failed to move the leadership of etcd away from member "1": no other voter is healthy';
    await rejects(moveLeadership(access, survey, "1"), { type: "ApiUnavailable", message });
    equal(
      await moveLeadership(access, survey, "2"),
      "1",
      "Expected the current leader, because the member does not lead",
    );
    deepEqual(orders(), []);
  });
});
