import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { folderSink } from "../../../../activities/etcd/folder_sink.ts";
import { type SnapshotSink, takeSnapshot } from "../../../../activities/etcd/snapshot.ts";
import { snapshotPieces } from "../../../../activities/etcd/snapshot_stream.ts";
import { inActivity } from "../../../support/activity_context.ts";
import { whileCollecting } from "../../../support/collect_garbage.ts";
import { eventually } from "../../../support/eventually.ts";
import { json, type Reply, withFakeEtcd } from "../../../support/fake_etcd.ts";

const database = randomBytes(96 * 1024);
const pieceSize = 32 * 1024;

interface Line {
  blob: string;
  remaining_bytes?: string;
}

/**
 * Returns the lines in which etcd sends a snapshot: pieces, each with the number of bytes after it, and at the end the
 * SHA-256 of all bytes.
 */
function lines(bytes: Uint8Array = database): Line[] {
  const told: Line[] = [];
  for (let at = 0; at < bytes.length; at += pieceSize) {
    const remaining = bytes.length - Math.min(bytes.length, at + pieceSize);
    const blob = Buffer.from(bytes.subarray(at, at + pieceSize)).toString("base64");
    told.push({ blob, ...(remaining === 0 ? {} : { remaining_bytes: String(remaining) }) });
  }
  return [...told, { blob: createHash("sha256").update(bytes).digest("base64") }];
}

const sending = (all: Line[]): Reply => (_, response) =>
  void response.end(all.map((result) => `${JSON.stringify({ result })}\n`).join(""));

/** A sink in memory, which records whether the snapshot was complete. */
class Kept implements SnapshotSink {
  bytes = Buffer.alloc(0);
  isWhole = false;

  async write(_: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const piece of bytes) this.bytes = Buffer.concat([this.bytes, piece]);
    this.isWhole = true;
  }
}

/** Answers requests for a snapshot by `reply`, and all others like a healthy member. */
const besides = (reply: Reply): Reply => (asked, response, request) => {
  if (asked.startsWith("/v3/maintenance/snapshot ")) return reply(asked, response, request);
  json(response, { header: { cluster_id: "1", member_id: "1" }, version: "3.6.4" });
};

const member = (endpoint: string) => ({ name: "cp-1", endpoint });

Deno.test("takeSnapshot: keeps all bytes in order, and sends a heartbeat for each piece", async () => {
  await withFakeEtcd(besides(sending(lines())), async ({ endpoint, access }) => {
    const [sink, seen] = [new Kept(), [] as number[]];
    const progress = (bytes: number): void => void seen.push(bytes);
    const snapshot = await takeSnapshot(access, member(endpoint), { name: "a.db", sink, progress });
    const size = database.length + 32;
    deepEqual(seen, [pieceSize, 2 * pieceSize, 3 * pieceSize, size]);
    deepEqual(snapshot, { name: "a.db", size, sha256: createHash("sha256").update(sink.bytes).digest("hex") });
    ok(sink.isWhole && sink.bytes.subarray(0, -32).equals(database));
  });
});

const withLine = (at: number, change: Partial<Line>): Line[] =>
  lines().map((line, nth) => nth === at ? { ...line, ...change } : line);
const changed = lines(database.with(5, (database[5] ?? 0) ^ 1));

const broken: [string, Reply, RegExp][] = [
  ["ends early", sending(lines().slice(0, 2)), /ended 32768 bytes early$/],
  [
    "ends without its digest",
    sending(lines().slice(0, 3)),
    /does not match the digest at its end: bytes were lost or changed$/,
  ],
  ["has changed bytes", sending([...changed.slice(0, 3), ...lines().slice(3)]), /does not match the digest at its end/],
  ["lacks a piece", sending(lines().toSpliced(1, 1)), /announces 0 remaining bytes after 32768 of 65536$/],
  [
    "announces more remaining bytes than before",
    sending(withLine(1, { remaining_bytes: "999999" })),
    /announces 999999 remaining bytes/,
  ],
  ["has no pieces", sending([]), /is empty$/],
  [
    "is not a snapshot",
    (_, response) => void response.end("<html>sesame\n"),
    /sends data that is not part of a snapshot$/,
  ],
  [
    "has a line of 2 MB without an end",
    (_, response) => void response.end("x".repeat(2_000_000)),
    /more than the largest possible snapshot$/,
  ],
  ["ends with an error of the member", (_, response) => {
    const [first] = lines();
    const error = { code: 14, message: "etcdserver: corrupt" };
    response.end(`${JSON.stringify({ result: first })}\n${JSON.stringify({ error })}\n`);
  }, /responded "etcdserver: corrupt"$/],
  [
    "is answered with a redirect",
    (_, response) => void response.writeHead(302, { location: "https://localhost/" }).end(),
    /HTTP 302$/,
  ],
  [
    "the member refuses to send",
    (_, response) => json(response, { error: { code: 14, message: "etcdserver: no leader" } }, 503),
    /no leader/,
  ],
  ["breaks off", (_, response) => {
    response.write(`${JSON.stringify({ result: lines()[0] })}\n`);
    setTimeout(() => response.destroy(), 50);
  }, /cannot be reached|ended 65536 bytes early/],
];

for (const [what, reply, message] of broken) {
  Deno.test(`takeSnapshot: does not keep a snapshot that ${what}`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "ostler-snapshots-"));
    await withFakeEtcd(besides(reply), async ({ endpoint, access }) => {
      for (const sink of [new Kept(), folderSink(folder)]) {
        const taking = takeSnapshot(access, member(endpoint), { name: "a.db", sink });
        await rejects(taking, (error: Error & { type?: string }) => {
          equal(error.type, "ApiUnavailable");
          match(error.message, /^Failed to take etcd snapshot "a\.db" from member "cp-1": "https:/);
          match(error.message, message);
          return true;
        });
        ok(!(sink instanceof Kept && sink.isWhole));
      }
      deepEqual(await readdir(folder), []);
    }).finally(() => rm(folder, { recursive: true }));
  });
}

Deno.test("takeSnapshot: gives up a stalled snapshot, and stops at once when its activity is cancelled", async () => {
  const stuck: Reply = (_, response) => void response.write(`${JSON.stringify({ result: lines()[0] })}\n`);
  await withFakeEtcd(besides(stuck), async ({ endpoint, access: { credentials } }) => {
    const pieces = snapshotPieces({ endpoint, credentials, idleMs: 200 });
    equal((await pieces.next()).value?.remaining, 2 * pieceSize);
    const silent = { kind: "Silent", message: /sent no data for 0\.2 s, or its data was not read for as long$/ };
    await whileCollecting(rejects(pieces.next(), silent));
  });
  const cancel = new AbortController();
  await withFakeEtcd(besides(stuck), async ({ endpoint, access }) => {
    const order = { name: "a.db", sink: new Kept(), progress: () => cancel.abort() };
    const taking = inActivity(() => takeSnapshot(access, member(endpoint), order), { cancel: cancel.signal });
    await whileCollecting(rejects(taking, { name: "CancelledFailure" }));
  });
});

Deno.test("takeSnapshot: a slow receiver slows the member down, so the snapshot does not fill the memory", async () => {
  const large = lines(new Uint8Array(64 * 1024 * 1024));
  let sent = 0;
  const eager: Reply = async (_, response) => {
    for (const result of large) {
      sent++;
      if (!response.write(`${JSON.stringify({ result })}\n`)) await once(response, "drain").catch(() => undefined);
      if (response.destroyed) return;
    }
    response.end();
  };
  await withFakeEtcd(besides(eager), async ({ endpoint, access: { credentials } }) => {
    const pieces = snapshotPieces({ endpoint, credentials });
    await pieces.next();
    let before = -1;
    await eventually("the member stops sending", async () => {
      if (sent === before) return true;
      before = sent;
      await pause(300);
      return false;
    });
    ok(sent < large.length, `Sent ${sent} of ${large.length} pieces`);
    await pieces.return(undefined);
  });
});

Deno.test("folderSink: names a missing folder in its error, and refuses a file name that leads out of the folder", async () => {
  await withFakeEtcd(besides(sending(lines())), async ({ endpoint, access }) => {
    const sink = folderSink("/nowhere/snapshots");
    const message = 'Failed to store an etcd snapshot in "/nowhere/snapshots": ENOENT';
    await rejects(takeSnapshot(access, member(endpoint), { name: "a.db", sink }), { type: "ApiUnavailable", message });
    for (const name of ["../a", "/a", "", ".a", "a/b"]) {
      await rejects(takeSnapshot(access, member(endpoint), { name, sink }), /the name is not a valid file name$/);
    }
  });
});
