import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { surveyEtcd } from "../../../../activities/etcd/survey.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { answering, json, Refused, type Reply, withFakeEtcd } from "../../../support/fake_etcd.ts";

const header = { cluster_id: "1", member_id: "18446744073709551615" };
const status = {
  ...{ header, version: "3.6.4", leader: "18446744073709551615", raftTerm: "2", raftIndex: "9", raftAppliedIndex: "9" },
  dbSize: "10",
};
const listOf = (...members: object[]) => ({ header, members });
const self = {
  ID: "18446744073709551615",
  name: "cp-1",
  peerURLs: ["https://127.0.0.1:2380"],
  clientURLs: [] as string[],
};
const answers = {
  "cluster/member/list": listOf(self),
  "maintenance/status": status,
  "maintenance/alarm": { header },
};

Deno.test("surveyEtcd: reads the members from a quorum, and the status from each endpoint", async () => {
  await withFakeEtcd(answering(answers), async ({ endpoint, access, asked }) => {
    const survey = await surveyEtcd(access, [endpoint, `${endpoint}/`]);
    deepEqual(survey, {
      members: [{
        ...{ id: "ffffffffffffffff", name: "cp-1", peerUrls: ["https://127.0.0.1:2380"], clientUrls: [] },
        ...{ isLearner: false, endpoint },
        status: {
          ...{ version: "3.6.4", leader: "ffffffffffffffff", raftIndex: 9, appliedIndex: 9, raftTerm: 2 },
          ...{ dbSize: 10, errors: [] },
        },
      }],
      ...{ leader: "ffffffffffffffff", alarms: [], endpoints: [endpoint] },
    });
    deepEqual(asked.toSorted(), [
      '/v3/cluster/member/list {"linearizable":true}',
      '/v3/maintenance/alarm {"action":"GET"}',
      "/v3/maintenance/status {}",
    ]);
  });
});

Deno.test("surveyEtcd: sends the client certificate only to hosts of configured endpoints, whatever URLs the member list contains", async () => {
  await withFakeEtcd(answering(answers), async (other) => {
    const clientURLs = [other.endpoint.replace("127.0.0.1", "localhost")];
    const there = { ...self, ID: "7", peerURLs: ["https://localhost:2380"], clientURLs };
    const list = listOf(self, there, { ...there, ID: "8", clientURLs: ["http://127.0.0.1:1", "file:///etc", "x"] });
    await withFakeEtcd(answering({ ...answers, "cluster/member/list": list }), async ({ endpoint, access }) => {
      const { members } = await surveyEtcd(access, [endpoint]);
      deepEqual(other.asked, []);
      equal(members[1]?.silence, "no request was sent, because none of its URLs has the host of a known endpoint");
    });
  });
});

Deno.test("surveyEtcd: uses the port of a member when its host is that of an endpoint", async () => {
  const second = { ...status, header: { cluster_id: "1", member_id: "7" } };
  await withFakeEtcd(answering({ "maintenance/status": second }), async (other) => {
    const list = listOf(self, { ...self, ID: "7", name: "cp-2", clientURLs: [other.endpoint] });
    await withFakeEtcd(answering({ ...answers, "cluster/member/list": list }), async ({ endpoint, access }) => {
      const { members: [, member] } = await surveyEtcd(access, [endpoint]);
      equal(member?.endpoint, other.endpoint);
    });
  });
});

Deno.test("surveyEtcd: reports an endpoint that answers as a member of another etcd cluster, such as a new cluster at the same address", async () => {
  const anew = { ...answers, "maintenance/status": { ...status, header: { ...header, cluster_id: "2" } } };
  await withFakeEtcd(answering(anew), async ({ endpoint, access }) => {
    const { members: [member], silence } = await surveyEtcd(access, [endpoint]);
    equal(member?.status, undefined);
    equal(member?.silence, `"${endpoint}" answers with the id of another member`);
    equal(silence, `"${endpoint}" is a member of another etcd cluster`);
  });
});

Deno.test("surveyEtcd: returns the member list of one endpoint, and no leader, when etcd has no quorum", async () => {
  const leaderless = { ...status, leader: undefined };
  const reply: Reply = (asked, response, request) => {
    if (asked.includes('"linearizable":true')) return; // no answer, so that the client gives up
    answering({ ...answers, "maintenance/status": leaderless })(asked, response, request);
  };
  await withFakeEtcd(reply, async ({ endpoint, access }) => {
    const begun = Date.now();
    const survey = await surveyEtcd(access, [endpoint]);
    ok(Date.now() - begun < 4_000, "Waited for an impossible answer");
    deepEqual([survey.members.length, survey.leader], [1, ""]);
    equal(survey.silence, "etcd has no leader and no quorum: 1 of 1 endpoints respond");
  });
});

Deno.test("surveyEtcd: returns an inconclusive survey when the alarms of etcd cannot be read", async () => {
  const timeout = new Refused("etcdserver: request timed out", 14, 503);
  await withFakeEtcd(answering({ ...answers, "maintenance/alarm": timeout }), async ({ endpoint, access }) => {
    const { silence } = await surveyEtcd(access, [endpoint]);
    equal(silence, `the alarms of etcd cannot be read: "${endpoint}" responded "etcdserver: request timed out"`);
  });
});

Deno.test("surveyEtcd: reads the status of an etcd whose quota is off (negative) or practically unlimited", async () => {
  for (const dbSizeQuota of ["-1", "9223372036854775807"]) {
    const reply = answering({ ...answers, "maintenance/status": { ...status, dbSizeQuota } });
    await withFakeEtcd(reply, async ({ endpoint, access }) => {
      const { members: [member], leader } = await surveyEtcd(access, [endpoint]);
      deepEqual([member?.silence, member?.status?.dbQuota], [undefined, undefined], dbSizeQuota);
      deepEqual([member?.status?.dbSize, leader], [10, "ffffffffffffffff"]);
    });
  }
});

Deno.test("surveyEtcd: is inconclusive, and does not blame the client certificate, when the gateway of a busy member cannot connect to its own server", async () => {
  const said = 'connection error: desc = "transport: authentication handshake failed: context deadline exceeded"';
  const busy = new Refused(said, 14, 503);
  const all = answering({ "cluster/member/list": busy, "maintenance/status": busy });
  await withFakeEtcd(all, async ({ endpoint, access }) => {
    const { members, silence } = await surveyEtcd(access, [endpoint]);
    deepEqual([members, silence], [[], `no endpoint responds: "${endpoint}" responded "${said}"`]);
  });
});

Deno.test("surveyEtcd: refuses an etcd that requires users", async () => {
  const denied = new Refused("etcdserver: user name is empty", 3);
  const all = answering({ "cluster/member/list": denied, "maintenance/status": denied });
  await withFakeEtcd(all, async ({ endpoint, access }) => {
    await rejects(surveyEtcd(access, [endpoint]), { type: "EtcdAccessMissing", message: /user name is empty/ });
  });
});

/** Responses of a server that is not an etcd: what it sends, how, and what the survey reports. */
const hostile: [string, Reply, RegExp][] = [
  ["a redirect", (_, response) => void response.writeHead(307, { location: "https://localhost:1/" }).end(), /HTTP 307/],
  ["a page", (_, response) => void response.end("<html>sesame</html>"), /responded HTTP 200/],
  ["a list", (_, response) => json(response, []), /did not send a valid etcd response/],
  [
    "values of wrong types",
    (_, response) => json(response, { header, members: "x", version: 3 }),
    /did not send a valid etcd response/,
  ],
  [
    "an invalid ID",
    (_, response) => json(response, listOf({ ...self, ID: "1e9" })),
    /did not send a valid etcd response/,
  ],
  [
    "too many members",
    (_, response) => json(response, listOf(...Array(65).fill(self))),
    /did not send a valid etcd response/,
  ],
  ["1.1 MB", (_, response) => void response.end("x".repeat(1_100_000)), /sent a response of more than 1000000 bytes/],
  ["an error", (_, response) => json(response, { code: 2, message: `a\nb${"x".repeat(900)}` }, 500), /"a\?bx{197}"$/],
  ["a truncated answer", (_, response) => {
    response.writeHead(200, { "content-length": "100" }).write("{");
    setTimeout(() => response.destroy(), 50);
  }, /cannot be reached|HTTP 200/],
];

for (const [what, reply, silence] of hostile) {
  Deno.test(`surveyEtcd: reports a server that answers with ${what}, and quotes only error messages of etcd`, async () => {
    await withFakeEtcd(reply, async ({ endpoint, access, asked }) => {
      const survey = await surveyEtcd(access, [endpoint]);
      deepEqual([survey.members, survey.leader, survey.alarms], [[], "", []]);
      match(survey.silence ?? "", silence);
      ok(!survey.silence?.includes("sesame"));
      equal(asked.length, 2, "Expected one request per endpoint");
    });
  });
}

Deno.test("surveyEtcd: stops when its activity is cancelled", async () => {
  const cancel = new AbortController();
  await withFakeEtcd(() => cancel.abort(), async ({ endpoint, access }) => {
    const survey = inActivity(() => surveyEtcd(access, [endpoint]), { cancel: cancel.signal });
    await rejects(survey, { name: "CancelledFailure" });
  });
});

Deno.test("surveyEtcd: refuses a list with an invalid endpoint, without endpoints or with more than 32, and calls none of its endpoints", async () => {
  await withFakeEtcd(answering(answers), async ({ access, endpoint, asked }) => {
    const many = Array.from({ length: 33 }, (_, at) => `https://10.0.0.${at}:2379`);
    for (const endpoints of [[], [endpoint, "http://127.0.0.1:2379"], ["https://u:p@127.0.0.1"], many]) {
      await rejects(surveyEtcd(access, endpoints), { type: "EtcdAccessMissing" });
    }
    deepEqual(asked, []);
  });
});
