/** Tests how Ostler reads the output of a pod on a node; a hostile node can forge this output. */
import { deepEqual, equal } from "node:assert/strict";
import { refusalIn } from "../../../../activities/os/refusal.ts";
import { osReading, stateIn } from "../../../../activities/os/hand_state.ts";
import { plain, verdictIn } from "../../../../activities/os/verdict.ts";

const digest = `sha256:${"a".repeat(64)}`;
const told = {
  ...{ outcome: "Done", reason: "", message: "", bootId: "00000000-0000-4000-8000-000000000001" },
  ...{ booted: digest, staged: "", fallback: "", findings: [] as unknown[] },
};
const said = (more: object): string => JSON.stringify({ ...told, ...more });

Deno.test("verdictIn: accepts only a well-formed result of the pod on the node", () => {
  const { bootId, booted, staged, fallback, findings } = told;
  deepEqual(verdictIn(said({})), { outcome: "Done", status: { bootId, booted, staged, fallback }, findings });
  const hostile = [
    ...["", "null", "[]", "{", "x".repeat(5000), said({ message: "x".repeat(4096) }), said({ extra: 1 })],
    ...[said({ outcome: "Unknown" }), said({ booted: "" }), said({ booted: "sha256:0" }), said({ bootId: "" })],
    ...[said({ staged: `${digest} ` }), said({ reason: "Constructor" }), said({ findings: [{ kind: "x" }] })],
    said({ findings: Array.from({ length: 17 }, () => ({ kind: "BootSpace", stops: true, message: "" })) }),
  ];
  for (const each of hostile) equal(verdictIn(each), undefined, each.slice(0, 80));
});

Deno.test("plain: removes control characters, direction marks and credentials from text", () => {
  equal(plain("a\u0000b\u001b[31mc\r\nd\u202ee"), "a b [31mc d e");
  equal(plain("at https://ada:secret@registry.example/v2, Bearer abc.def"), "at https://registry.example/v2, Bearer …");
  equal(plain("at https://ada:se/cr@et@registry.example/os@sha256:00"), "at https://registry.example/os@sha256:00");
  equal(plain("2secret@registry.example/v2: refused"), "registry.example/v2: refused");
  equal(plain("registry.example/os@sha256:00 not found"), "registry.example/os@sha256:00 not found");
  equal(plain(`x${"y".repeat(2000)}`).length, 1000);
});

Deno.test("refusalIn: returns the reason that fits the error message of an operating system's tool", () => {
  const words: [string, string][] = [
    ["DiskFull", "error: min-free-space-percent '3%' would be exceeded, at least 13 kB requested"],
    ["SignatureInvalid", "error: GPG signatures found, but none are in trusted keyring"],
    ["SignatureInvalid", "Source image rejected: Running image docker://x is rejected by policy."],
    ["ImageNotFound", "reading manifest sha256:0 in registry.example/os: manifest unknown"],
    ["ImageNotFound", "error: Server returned HTTP 404"],
    ["RegistryUnreachable", "dial tcp: lookup registry.example: no such host"],
    ["RegistryUnreachable", "x509: certificate signed by unknown authority"],
    ["RegistryUnreachable", "pinging container registry registry.example: received unexpected HTTP status: 503"],
    ["DriverMissing", "error: unrecognized subcommand 'switch'"],
    ["DriverFailed", "error: Transaction in progress: upgrade"],
  ];
  for (const [reason, said] of words) equal(refusalIn(said), reason, said);
});

Deno.test("stateIn: a pod that ended without a readable result has failed; it is lost if it was killed, timed out, or may have rebooted the node", () => {
  const pod = (verb: string, terminated: { exitCode: number; message?: string; reason?: string }): string => {
    const state = stateIn({
      metadata: { name: "hand" },
      status: { phase: "Failed", containerStatuses: [{ name: "hand", state: { terminated } } as never] },
    }, osReading(verb));
    return state.kind === "Told" ? JSON.stringify(state.outcome) : state.kind;
  };
  const failed =
    '{"outcome":"Refused","reason":"DriverFailed","message":"pod \\"hand\\" ended with exit code 2 and an unreadable result: sh: no"}';
  equal(pod("Stage", { exitCode: 2, message: "sh:\u0000no" }), failed);
  equal(pod("Stage", { exitCode: 137 }), "Lost");
  equal(pod("Stage", { exitCode: 1, reason: "DeadlineExceeded" }), "Lost");
  equal(pod("Apply", { exitCode: 2, message: "{}" }), "Lost");
});
