/** Reads and changes of a real etcd, healthy and unhealthy: processes with TLS, as kubeadm sets them up. */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash, randomInt } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApplicationFailure } from "@temporalio/common";
import { EtcdAccess } from "../../activities/etcd/access.ts";
import { folderSink } from "../../activities/etcd/folder_sink.ts";
import { memberAt, wordsOf } from "../../activities/etcd/judge.ts";
import { moveLeadership } from "../../activities/etcd/leadership.ts";
import { decimalOf, hexOf } from "../../activities/etcd/member_id.ts";
import { promoteLearner, removeMember } from "../../activities/etcd/membership.ts";
import { takeSnapshot } from "../../activities/etcd/snapshot.ts";
import { surveyEtcd } from "../../activities/etcd/survey.ts";
import { urlSink } from "../../activities/etcd/url_sink.ts";
import { readServed } from "../../activities/x509/served_certificate.ts";
import { Supervisor } from "../../deploy/local/process/supervisor.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import type { EtcdMember, EtcdSurvey } from "../../workflows/contracts/mod.ts";
import { EtcdCluster, type EtcdPlace } from "../support/etcd_cluster.ts";
import { eventually } from "../support/eventually.ts";

/** Time limit (ms) for every call of Ostler to etcd, even when members do not respond. */
const longestMs = 15_000;

interface Scene {
  cluster: EtcdCluster;
  access: EtcdAccess;
  places: EtcdPlace[];
  /** A machine whose member is not part of the cluster at first. */
  newcomer: EtcdPlace;
  directory: string;
  look: () => Promise<EtcdSurvey>;
}

async function withEtcd(
  { voters = 3, args = [] }: { voters?: number; args?: string[] },
  story: (scene: Scene) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "ostler-etcd-"));
  const supervisor = new Supervisor({ directory });
  const net = `127.${randomInt(64, 128)}.${randomInt(1, 255)}`;
  const place = (nth: number): EtcdPlace => ({ name: `cp-${nth}`, address: `${net}.${nth}` });
  const places = Array.from({ length: voters }, (_, at) => place(at + 1));
  try {
    const { etcd } = await resolveTools(["etcd"]);
    const cluster = await EtcdCluster.create({ directory: join(directory, "etcd"), etcd, supervisor, args });
    await cluster.start(...places);
    const access = new EtcdAccess(cluster.credentials);
    const look = () => surveyEtcd(access, cluster.endpoints);
    await story({ cluster, access, places, newcomer: place(voters + 1), directory, look });
  } finally {
    for (const process of supervisor.processes) process.kill("SIGKILL");
    await supervisor.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

function named({ members }: EtcdSurvey, name: string): EtcdMember {
  const found = members.find((member) => member.name === name);
  ok(found, `"${name}" is a member`);
  return found;
}

function leaderOf(survey: EtcdSurvey): EtcdMember {
  const found = survey.members.find(({ id }) => id === survey.leader);
  ok(found, "Expected a leader");
  return found;
}

/** Returns the result or the failure, and checks the time that it took. */
async function inTime<T>(work: () => Promise<T>): Promise<T> {
  const begun = Date.now();
  try {
    return await work();
  } finally {
    ok(Date.now() - begun < longestMs, `Took too long: ${Date.now() - begun} ms`);
  }
}

function failure(type: string, message: RegExp): (error: unknown) => true {
  return (error) => {
    ok(error instanceof ApplicationFailure, String(error));
    equal(error.type, type);
    match(error.message, message);
    return true;
  };
}

const unavailable = (message: RegExp) => failure("ApiUnavailable", message);

Deno.test("etcd: a survey of a healthy cluster lists all members and no problem", async () => {
  await withEtcd({}, async ({ cluster, places, look }) => {
    const survey = await look();
    const listed = await cluster.members();
    deepEqual(survey.members.map(({ id }) => decimalOf(id)).sort(), listed.map(({ ID }) => ID).sort());
    deepEqual([survey.alarms, survey.silence], [[], undefined]);
    deepEqual(wordsOf(survey), []);
    for (const { name, address } of places) {
      const member = memberAt(survey, { addresses: ["10.0.0.1", address], node: "other" });
      deepEqual(member, named(survey, name));
      equal(named(survey, name).endpoint, cluster.endpoint(name));
    }
    const { status } = leaderOf(survey);
    ok(status && status.raftIndex > 0 && status.dbSize > 0 && (status.dbQuota ?? 1) > 0, JSON.stringify(status));
    match(status.version, /^3\.\d+\.\d+$/);
  });
});

Deno.test("etcd: a client without a certificate reads the expiry time of a member's certificate, and reports it as unknown while the member is suspended", async () => {
  await withEtcd({ voters: 1 }, async ({ cluster, places: [place] }) => {
    const server = { host: place?.address ?? "", port: 2379 };
    const served = await readServed(server);
    const dayMs = 24 * 3_600_000;
    ok(
      "until" in served && served.from < Date.now() && served.until > Date.now() + 300 * dayMs,
      JSON.stringify(served),
    );
    cluster.stop("cp-1");
    deepEqual(await readServed(server, 500), { unknown: "no TLS handshake within 0.5 s" });
  });
});

Deno.test("etcd: a suspended member is reported as not responding, and prevents the removal of another member", async () => {
  await withEtcd({}, async ({ cluster, access, look }) => {
    const before = await look();
    const victim = before.members.find(({ id }) => id !== before.leader);
    const other = before.members.find(({ id }) => id !== before.leader && id !== victim?.id);
    ok(victim && other);
    cluster.stop(victim.name);
    const removal = inTime(() => removeMember(access, before, other.id));
    const [survey] = await Promise.all([
      inTime(look),
      rejects(removal, unavailable(/^Failed to remove member "cp-\d" from etcd: 1 of the 2 voters that remain /)),
    ]);
    equal(survey.leader, before.leader);
    deepEqual(wordsOf(survey), [
      `member "${victim.name}" does not respond: "${cluster.endpoint(victim.name)}" did not respond within 5 s`,
    ]);
    cluster.goOn(victim.name);
    await eventually("the member to respond again", async () => wordsOf(await look()).length === 0);
  });
});

Deno.test("etcd: a survey reports a lost quorum and does not fail; without quorum the removal of a member is refused", async () => {
  await withEtcd({}, async ({ cluster, access, look }) => {
    await Promise.all([cluster.kill("cp-1"), cluster.kill("cp-2")]);
    const survey = await inTime(look);
    equal(survey.leader, "");
    deepEqual(survey.members.map(({ name }) => name).sort(), ["cp-1", "cp-2", "cp-3"]);
    match(survey.silence ?? "", /^etcd has no (leader and no )?quorum: 1 of 3 endpoints respond/);
    const [first = "", ...more] = wordsOf(survey);
    match(first, /^the survey of etcd is inconclusive: etcd has no /);
    match(more.join("\n"), /member "cp-1" does not respond: .*ECONNREFUSED/);
    const steps = [removeMember, moveLeadership, promoteLearner];
    await Promise.all(survey.members.flatMap(({ id }) =>
      steps.map(async (step) => {
        await rejects(inTime(() => step(access, survey, id)), unavailable(/^Failed to .*: etcd has no .*quorum/));
      })
    ));
    await cluster.kill("cp-3");
    const silent = await inTime(look);
    deepEqual([silent.members, silent.leader], [[], ""]);
    match(silent.silence ?? "", /^no endpoint responds: .*ECONNREFUSED/);
  });
});

Deno.test("etcd: a learner is promoted once it is in sync, and not while it is suspended", async () => {
  await withEtcd({ voters: 1 }, async ({ cluster, access, newcomer, look }) => {
    await cluster.put("a", "1");
    const id = hexOf(await cluster.addLearner(newcomer)) ?? "";
    const added = await look();
    match(wordsOf(added)[0] ?? "", new RegExp(`^learner "${id}" never started: no request was sent`));
    equal(await promoteLearner(access, added, id), "NotInSync");
    await cluster.startAdded(newcomer);
    cluster.stop(newcomer.name);
    const { endpoints } = cluster;
    const promotion = inTime(() => promoteLearner(access, { ...added, endpoints }, id));
    const [survey, outcome] = await Promise.all([inTime(look), promotion]);
    equal(outcome, "NotInSync");
    match(wordsOf(survey).join("\n"), /never started|is a learner and does not vote yet/);
    cluster.goOn(newcomer.name);
    await eventually(
      "the learner to be promoted",
      async () => await promoteLearner(access, await look(), id) === "Promoted",
    );
    equal(await promoteLearner(access, await look(), id), "Voter");
    equal(await promoteLearner(access, await look(), "77"), "Absent");
  });
});

Deno.test("etcd: a member that was added and never started is found by its address, reported, and removed", async () => {
  await withEtcd({}, async ({ cluster, access, newcomer, look }) => {
    const id = hexOf(await cluster.addVoter(newcomer)) ?? "";
    const survey = await look();
    const found = memberAt(survey, { addresses: [newcomer.address], node: newcomer.name });
    ok(found && found !== "Ambiguous");
    deepEqual([found.id, found.name], [id, ""]);
    match(wordsOf(survey).join("\n"), new RegExp(`^voter "${id}" never started`));
    const [gone, again] = [await removeMember(access, survey, id), await removeMember(access, survey, id)];
    deepEqual([gone, again], ["Removed", "Absent"]);
    deepEqual(wordsOf(await look()), []);
  });
});

Deno.test("etcd: the member of a machine that lost its disk is removed, and joins again with the same name", async () => {
  await withEtcd({}, async ({ cluster, access, places, look }) => {
    await cluster.put("kept", "1");
    const before = await look();
    const victim = before.members.find(({ id }) => id !== before.leader);
    const place = places.find(({ name }) => name === victim?.name);
    ok(victim && place);
    await cluster.forget(victim.name);
    const survey = await surveyEtcd(access, before.endpoints);
    match(
      wordsOf(survey).join("\n"),
      /^member "cp-\d" does not respond: "https:.*" cannot be reached \(ECONNREFUSED\)$/,
    );
    deepEqual(memberAt(survey, { addresses: [place.address], node: place.name }), named(survey, victim.name));
    await eventually("the lost member to be removed", () => removed(access, survey, victim.id));
    await cluster.join(place);
    await cluster.settled();
    const after = await look();
    deepEqual(wordsOf(after), []);
    ok(named(after, victim.name).id !== victim.id, "Expected another member");
    await cluster.kill(victim.name);
    await cluster.restart(victim.name);
    await cluster.settled();
    equal(await cluster.get("kept"), "1");
  });
});

Deno.test("etcd: a survey fails with EtcdAccessMissing if its CA or its client certificate belongs to another cluster", async () => {
  await withEtcd({ voters: 1 }, async ({ cluster, directory }) => {
    const supervisor = new Supervisor({ directory: join(directory, "other") });
    const other = await EtcdCluster.create({ directory: join(directory, "other"), etcd: "", supervisor });
    await supervisor.stop();
    const { ca, cert, key } = other.credentials;
    const survey = (credentials: Partial<EtcdCluster["credentials"]>) => () =>
      surveyEtcd(new EtcdAccess({ ...cluster.credentials, ...credentials }), cluster.endpoints);
    const isRefused = (message: RegExp) => failure("EtcdAccessMissing", message);
    await rejects(
      survey({ ca }),
      isRefused(/^Failed to survey etcd: "https:.*" has a certificate that "ca\.crt" does not verify/),
    );
    await rejects(
      survey({ cert, key }),
      isRefused(/^Failed to survey etcd: "https:.*" refuses the client certificate/),
    );
  });
});

Deno.test("etcd: a survey reports a full database and its NOSPACE alarm", async () => {
  await withEtcd({ voters: 1, args: ["--quota-backend-bytes=1048576"] }, async ({ cluster, look }) => {
    await eventually(
      "the database to be full",
      async () => !(await cluster.put(`key-${randomInt(1e9)}`, "x".repeat(200_000))),
    );
    const survey = await look();
    const { id } = leaderOf(survey);
    deepEqual(survey.alarms, [{ member: id, type: "NOSPACE" }]);
    equal(wordsOf(survey)[0], 'alarm NOSPACE is raised for member "cp-1"');
    match(wordsOf(survey).join("\n"), /member "cp-1" has a database at more than 90% of its quota/);
  });
});

Deno.test("etcd: a leader can be removed only after its leadership has moved to another member", async () => {
  await withEtcd({}, async ({ cluster, access, look }) => {
    await cluster.put("kept", "1");
    const before = await look();
    const leader = leaderOf(before);
    await rejects(removeMember(access, before, leader.id), unavailable(/move its leadership first$/));
    const heir = await moveLeadership(access, before, leader.id);
    ok(heir !== leader.id);
    const after = await look();
    equal(after.leader, heir);
    equal(await moveLeadership(access, before, leader.id), heir, "Expected no change, because it was moved already");
    await eventually("the previous leader to be removed", () => removed(access, after, leader.id));
    await eventually("two members to be left", async () => (await look()).members.length === 2);
    equal(await cluster.get("kept"), "1");
  });
});

Deno.test("etcd: a snapshot is stored completely, with its digest, in a folder and by HTTP PUT", async () => {
  await withEtcd({ voters: 1 }, async ({ cluster, directory, look }) => {
    for (let nth = 0; nth < 20; nth++) await cluster.put(`key-${nth}`, randomText(100_000));
    const access = new EtcdAccess(cluster.credentials);
    const member = leaderOf(await look());
    const folder = join(directory, "snapshots");
    await mkdir(folder);
    const seen: number[] = [];
    const progress = (bytes: number): void => void seen.push(bytes);
    const kept = await takeSnapshot(access, member, { name: "one.db", sink: folderSink(folder), progress });
    deepEqual(await readdir(folder), ["one.db"]);
    const bytes = await readFile(join(folder, "one.db"));
    equal((await stat(join(folder, "one.db"))).mode & 0o777, 0o600);
    deepEqual(kept, { name: "one.db", size: bytes.length, sha256: sha256(bytes).toString("hex") });
    ok(seen.length > 50 && seen.at(-1) === bytes.length, "Expected heartbeats meanwhile");
    // Checks the format as etcdutl does before it restores: whole pages of the database, then their digest.
    deepEqual(sha256(bytes.subarray(0, -32)), bytes.subarray(-32));
    equal(bytes.length % 512, 32);
    ok(bytes.length > 2_000_000 && bytes.includes("key-19"));
    await storing(async ({ url, stored }) => {
      const put = await takeSnapshot(access, member, {
        name: "two.db",
        sink: urlSink(`${url}/a`, { token: "sesame" }),
      });
      const [file] = stored;
      deepEqual([file?.path, file?.authorization], ["/a/two.db", "Bearer sesame"]);
      equal(put.sha256, sha256(file?.bytes ?? new Uint8Array()).toString("hex"));
    });
  });
});

/**
 * Removes a member; returns undefined while etcd refuses because it treats new members as unhealthy, for some seconds.
 */
async function removed(access: EtcdAccess, survey: EtcdSurvey, id: string): Promise<"Removed" | "Absent" | undefined> {
  try {
    return await removeMember(access, survey, id);
  } catch (error) {
    unavailable(/unhealthy cluster"$/)(error);
    return undefined;
  }
}

interface Stored {
  path: string;
  authorization: string;
  bytes: Uint8Array;
}

async function storing(story: (server: { url: string; stored: Stored[] }) => Promise<void>): Promise<void> {
  const stored: Stored[] = [];
  const server = createServer((request, response) => {
    const parts: Uint8Array[] = [];
    request.on("data", (part: Uint8Array) => parts.push(part));
    request.on("end", () => {
      const { url: path = "", headers: { authorization = "" } } = request;
      stored.push({ path, authorization, bytes: Buffer.concat(parts) });
      response.writeHead(201).end();
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", () => listening()));
  try {
    await story({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stored });
  } finally {
    await new Promise((closed) => server.close(closed));
  }
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

function randomText(length: number): string {
  return Array.from({ length: length / 4 }, () => randomInt(0x1000, 0x10000).toString(16)).join("");
}
