/** The run of an OSImage resolves and verifies the image, reports the result, and then ends. */
import type { NativeConnection } from "@temporalio/worker";
import { deepEqual, equal, rejects } from "node:assert/strict";
import { engineOf } from "../../cli/connect/temporal_engine.ts";
import type { EngineOptions } from "../../cli/connect/engine.ts";
import { ensureSearchAttributes } from "../../activities/temporal/search_attributes.ts";
import { unreachable } from "../../activities/os_image/fault.ts";
import { moot } from "../../activities/failures.ts";
import { readConfig } from "../../workers/config.ts";
import { admitImage } from "../../workers/tell_images.ts";
import { columnsOf, imageIdOf } from "../../workflows/commands/start_options.ts";
import type { ImageEvidence, ImageOutcome, ImageVerdict, ResolvedImage } from "../../workflows/contracts/mod.ts";
import { resolved } from "../support/fake_images.ts";
import { onStage, type Stage } from "../support/workflow_stage.ts";

const test = onStage();
const config = readConfig({});
const evidence: ImageEvidence = { signedBy: `sha256:${"a".repeat(64)}`, signed: resolved().digest };
const verified: ImageVerdict = { outcome: "Verified", evidence };

async function admit({ client }: Stage, name: string): Promise<ImageOutcome> {
  await admitImage(client, config, name);
  return await client.workflow.getHandle(imageIdOf({ name })).result() as ImageOutcome;
}

function found({ activities: { images } }: Stage, name: string, image: ResolvedImage = resolved()): ResolvedImage {
  images.looks.set(name, [{ outcome: "Resolved", image }]);
  return image;
}

test("admitImage: reports a resolved and signed image as accepted", async (stage) => {
  const { images } = stage.activities;
  const image = found(stage, "good");
  images.verdicts.set("good", [verified]);
  deepEqual(await admit(stage, "good"), { outcome: "Accepted", digest: image.digest });
  deepEqual(images.told.get("good"), [{ state: "Accepted", image, evidence }]);
  const calls = images.calls.filter((call) => call.endsWith(" good"));
  deepEqual(calls, ["resolveImage good", "verifyImage good", "ensureImageTold good"]);
});

test("A15 admitImage: reports the refused digest of an unsigned image, and why", async (stage) => {
  const image = found(stage, "unsigned");
  const [reason, message] = ["SignatureMissing" as const, "No signature is attached"];
  stage.activities.images.verdicts.set("unsigned", [{ outcome: "Refused", generation: 1, reason, message }]);
  deepEqual(await admit(stage, "unsigned"), { outcome: "Refused", reason, message });
  deepEqual(stage.activities.images.told.get("unsigned"), [{
    state: "Refused",
    reason,
    message,
    generation: 1,
    image,
  }]);
});

test("admitImage: does not verify an image whose reference cannot be resolved", async (stage) => {
  const { images } = stage.activities;
  const [reason, message] = ["NotFound" as const, "The registry has no such tag"];
  images.looks.set("absent", [{ outcome: "Refused", generation: 3, reason, message }]);
  deepEqual(await admit(stage, "absent"), { outcome: "Refused", reason, message });
  deepEqual(images.told.get("absent"), [{ state: "Refused", reason, message, generation: 3 }]);
  deepEqual(images.calls.filter((call) => call === "verifyImage absent"), []);
});

for (const step of ["looks", "verdicts"] as const) {
  test(`admitImage: retries a registry, and reports it as unreachable after several attempts (${step})`, async (stage) => {
    const { images } = stage.activities;
    const name = `away-${step}`;
    found(stage, name);
    // The first failure is retried, and the second one is reported.
    images[step].set(name, [unreachable("no response yet", 1), unreachable("no response", 100)]);
    const reason = "RegistryUnreachable" as const;
    deepEqual(await admit(stage, name), { outcome: "Unknown", reason, message: "no response" });
    deepEqual(images.told.get(name), [{ state: "Unknown", reason, message: "no response" }]);
    const tries = images.calls.filter((call) =>
      call === `${step === "looks" ? "resolveImage" : "verifyImage"} ${name}`
    );
    equal(tries.length, 2);
  });
}

test("admitImage: reports an image as Unknown, without a digest, when the registry denies access", async (stage) => {
  const [reason, message] = ["RegistryDenied" as const, "HTTP 403"];
  stage.activities.images.looks.set("denied", [{ outcome: "Unknown", generation: 1, reason, message }]);
  deepEqual(await admit(stage, "denied"), { outcome: "Unknown", reason, message });
  deepEqual(stage.activities.images.told.get("denied"), [{ state: "Unknown", reason, message }]);
});

test("admitImage: begins again in the same run when the spec changes during the verification", async (stage) => {
  const { images } = stage.activities;
  const image = resolved({ generation: 2 });
  images.looks.set("edited", [{ outcome: "Resolved", image: resolved() }, { outcome: "Resolved", image }]);
  images.verdicts.set("edited", [moot("GenerationStale", "it is not generation 1 any more"), verified]);
  deepEqual(await admit(stage, "edited"), { outcome: "Accepted", digest: image.digest });
  deepEqual(images.told.get("edited"), [{ state: "Accepted", image, evidence }]);
});

test("admitImage: verifies again after a signal during the verification", async (stage) => {
  const { images } = stage.activities;
  found(stage, "asked");
  const [reason, message] = ["SignatureMissing" as const, "not yet"];
  images.verdicts.set("asked", [{ outcome: "Refused", generation: 1, reason, message }, verified]);
  let looks = 0;
  images.whileVerified = async (name) => {
    if (name !== "asked") return;
    looks += 1;
    if (looks === 1) await admitImage(stage.client, config, name);
  };
  equal((await admit(stage, "asked")).outcome, "Accepted");
  deepEqual(images.told.get("asked")?.map(({ state }) => state), ["Refused", "Accepted"]);
});

test("admitImage: ends when the object does not exist", async (stage) => {
  stage.activities.images.looks.set("gone", [{ outcome: "Gone" }]);
  deepEqual(await admit(stage, "gone"), { outcome: "Gone" });
  equal(stage.activities.images.told.get("gone"), undefined);
});

test("admitImage: accepts requests of people, and answers with the result, also during a verification", async (stage) => {
  const { images } = stage.activities;
  found(stage, "people");
  const [reason, message] = ["SignatureMissing" as const, "not yet"];
  images.verdicts.set("people", [{ outcome: "Refused", generation: 1, reason, message }, verified]);
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  images.whileVerified = (name) => name === "people" ? asked : Promise.resolve();
  await admitImage(stage.client, config, "people");
  const engine = engineOf(stage.client, { ...at(stage), cluster: "" });
  await rejects(
    engine.admitImage({ name: "people", within: 200 }),
    /no result within 0.2 s; check that a worker of Ostler runs/,
  );
  const verdict = engine.admitImage({ name: "people", within: 60_000 });
  resolve();
  deepEqual(await verdict, { outcome: "Accepted", digest: resolved().digest });
});

test("admitImage: in a named cluster, has the name of the cluster in its workflow ID, and runs on workers of that cluster", async (stage) => {
  const { images } = stage.activities;
  found(stage, "named");
  images.verdicts.set("named", [verified]);
  const connection = stage.client.connection as NativeConnection;
  await ensureSearchAttributes(connection, { namespace: "default", columns: columnsOf("berlin") });
  const engine = engineOf(stage.client, { ...at(stage), cluster: "berlin" });
  equal((await engine.admitImage({ name: "named", within: 60_000 })).outcome, "Accepted");
  const run = await stage.client.workflow.getHandle("berlin/os-image/named").describe();
  deepEqual([run.type, run.status.name], ["admitImage", "COMPLETED"]);
});

function at({ address }: Stage): Omit<EngineOptions, "cluster"> {
  return { address, namespace: "default", taskQueue: "ostler", access: {}, uid: () => Promise.resolve("") };
}
