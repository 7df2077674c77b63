import { deepEqual, equal } from "node:assert/strict";
import { memberAt, wordsOf } from "../../../../activities/etcd/judge.ts";
import { leavingDoubts, removalDoubts } from "../../../../activities/etcd/quorum.ts";
import type { EtcdMember, EtcdStatus, EtcdSurvey } from "../../../../workflows/contracts/mod.ts";

const well: EtcdStatus = {
  ...{ version: "3.6.4", leader: "1", raftIndex: 10_000, appliedIndex: 10_000, raftTerm: 2 },
  ...{ dbSize: 10, dbQuota: 100, errors: [] },
};

/** Returns member "cp-<nth>" at 10.0.0.<nth>, healthy except for the changes. */
function member(nth: number, change: Partial<EtcdMember> = {}, status: Partial<EtcdStatus> = {}): EtcdMember {
  const endpoint = `https://10.0.0.${nth}:2379`;
  return {
    ...{ id: nth.toString(16), name: `cp-${nth}`, peerUrls: [`https://10.0.0.${nth}:2380`], clientUrls: [endpoint] },
    ...{ isLearner: false, endpoint, status: { ...well, ...status } },
    ...change,
  };
}

function silent(nth: number, change: Partial<EtcdMember> = {}): EtcdMember {
  const { status: _, endpoint: __, ...rest } = member(nth);
  return { ...rest, silence: `"https://10.0.0.${nth}:2379" cannot be reached`, ...change };
}

function survey(members: EtcdMember[], change: Partial<EtcdSurvey> = {}): EtcdSurvey {
  return { members, leader: "1", alarms: [], endpoints: ["https://10.0.0.1:2379"], ...change };
}

const three = survey([member(1), member(2), member(3)]);

Deno.test("etcd verdict: reports no problem with three healthy members, and permits to delete the machine of any of these members", () => {
  deepEqual(wordsOf(three), []);
  for (const { id } of three.members) deepEqual(leavingDoubts(three, id), []);
});

/** Each case: what is wrong, the survey that shows it, and all sentences that describe it. */
const cases: [string, EtcdSurvey, string[]][] = [
  [
    "a member that does not answer",
    survey([member(1), member(2), silent(3)]),
    ['member "cp-3" does not respond: "https://10.0.0.3:2379" cannot be reached'],
  ],
  ["a learner", survey([member(1), member(2, { isLearner: true })]), [
    'member "cp-2" is a learner and does not vote yet',
  ]],
  ["a voter that never started", survey([member(1), silent(2, { name: "", id: "b2" })]), [
    'voter "b2" never started: "https://10.0.0.2:2379" cannot be reached',
  ]],
  ["no leader", survey([member(1, {}, { leader: "" })], { leader: "" }), ["etcd has no leader"]],
  ["a member without a leader", survey([member(1), member(2, {}, { leader: "" })]), ['member "cp-2" has no leader']],
  ["two leaders", survey([member(1), member(2, {}, { leader: "2" })]), [
    'member "cp-2" follows leader "2", while others follow "1"',
  ]],
  [
    "alarms",
    survey([member(1), member(2, {}, { errors: ["memberID:2 alarm:NOSPACE"] })], {
      alarms: [{ member: "2", type: "NOSPACE" }, { member: "1", type: "CORRUPT" }, { member: "f", type: "NOSPACE" }],
    }),
    [
      'alarm CORRUPT is raised for member "cp-1"',
      'alarm NOSPACE is raised for member "cp-2"',
      'alarm NOSPACE is raised for member "f"',
    ],
  ],
  ["a member that is 5,000 entries behind", survey([member(1), member(2, {}, { raftIndex: 5_000 })]), []],
  ["a member that is 5,001 entries behind", survey([member(1), member(2, {}, { raftIndex: 4_999 })]), [
    'member "cp-2" is more than 5000 entries behind the leader',
  ]],
  ["one minor version apart", survey([member(1), member(2, {}, { version: "3.5.21" })]), []],
  ["two minor versions apart", survey([member(1), member(2, {}, { version: "3.4.3" })]), [
    'members run versions "3.4.3" and "3.6.4"; etcd supports a difference of one minor version',
  ]],
  ["invalid versions", survey([member(1), member(2, {}, { version: "main" })]), []],
  ["a database at 90%", survey([member(1, {}, { dbSize: 90 })]), []],
  ["a database at 91%", survey([member(1, {}, { dbSize: 91 })]), [
    'member "cp-1" has a database at more than 90% of its quota',
  ]],
  ["a database of unknown quota", survey([member(1, {}, { dbSize: 91, dbQuota: 0 })]), []],
  ["an error that the member reports", survey([member(1, {}, { errors: ["etcdserver: stuck"] })]), [
    'member "cp-1" reports an error: "etcdserver: stuck"',
  ]],
  ["a survey without members and without an answer", survey([], { leader: "", silence: "no endpoint answers" }), [
    "the survey of etcd is inconclusive: no endpoint answers",
    "etcd reports no members",
  ]],
];

for (const [what, seen, sentences] of cases) {
  Deno.test(`wordsOf: describes ${what} in ${sentences.length} sentences`, () => deepEqual(wordsOf(seen), sentences));
}

Deno.test("wordsOf: returns at most five sentences, in an order that does not depend on the list", () => {
  const members = [7, 3, 5, 1, 2, 6, 4].map((nth) => silent(nth));
  const told = wordsOf(survey(members));
  deepEqual(wordsOf(survey(members.toReversed())), told);
  deepEqual(told.map((each) => /"(cp-\d)"/.exec(each)?.[1] ?? each), [
    ...["cp-1", "cp-2", "cp-3", "cp-4", "cp-5"],
    "and 2 more",
  ]);
});

Deno.test("etcd verdict: reports why the machine of a member must not be deleted, when the healthy voters that remain are not a quorum", () => {
  const first = (seen: EtcdSurvey, id: string) => leavingDoubts(seen, id)[0];
  equal(first(three, "9"), 'member "9" is not in this etcd cluster');
  equal(first(survey([member(1)]), "1"), 'member "cp-1" is the last voter: etcd cannot run without it');
  equal(
    first(survey([member(1), member(2)]), "2"),
    'without member "cp-2", 1 of 2 voters are healthy, and a quorum needs both',
  );
  equal(
    first(survey([member(1), member(2), silent(3)]), "2"),
    'without member "cp-2", 1 of 3 voters are healthy, and a quorum needs 2',
  );
  equal(
    first(survey([member(1), member(2), member(3), member(4)]), "4"),
    undefined,
    "Expected three of four to be a quorum",
  );
  const withLearner = survey([member(1), member(2, { isLearner: true })]);
  deepEqual(
    leavingDoubts(withLearner, "2"),
    [],
    "Expected a learner, which has no vote, to be allowed to leave",
  );
});

Deno.test("etcd verdict: permits to remove a member when the healthy voters that remain are a quorum, and it is neither last voter nor leader", () => {
  deepEqual(removalDoubts(survey([member(1), member(2), silent(3)]), "3"), []);
  deepEqual(removalDoubts(survey([member(1), silent(2)]), "2"), [], "Expected one of one to be a quorum");
  deepEqual(removalDoubts(survey([member(1)]), "1"), [
    'member "cp-1" is the last voter: etcd cannot run without it',
  ]);
  deepEqual(removalDoubts(survey([member(1), member(2), silent(3)]), "2"), [
    '1 of the 2 voters that remain without member "cp-2" are healthy, and a quorum needs 2',
  ]);
  deepEqual(removalDoubts(three, "1"), ['member "cp-1" is the leader: move its leadership first']);
});

Deno.test("etcd verdict: finds the member of a machine by its address, then by its name", () => {
  const ipv6 = member(4, { peerUrls: ["https://[fd00:0::4]:2380"], name: "" });
  const seen = survey([member(1), member(2), member(3), ipv6]);
  equal(memberAt(seen, { addresses: ["192.0.2.1", "10.0.0.2"], node: "cp-1" }), seen.members[1]);
  equal(memberAt(seen, { addresses: ["fd00::4"], node: "" }), ipv6);
  equal(memberAt(seen, { addresses: ["192.0.2.1"], node: "cp-3" }), seen.members[2]);
  equal(memberAt(seen, { addresses: [], node: "" }), undefined, "Expected a member without a name to match no machine");
  equal(memberAt(seen, { addresses: ["10.0.0.20"], node: "cp-2x" }), undefined);
  equal(memberAt(seen, { addresses: ["10.0.0.1", "10.0.0.2"], node: "cp-1" }), "Ambiguous");
  equal(memberAt(survey([member(1), member(2, { name: "cp-1" })]), { addresses: [], node: "cp-1" }), "Ambiguous");
});
