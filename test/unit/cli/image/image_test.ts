import { deepEqual, equal, match } from "node:assert/strict";
import { FakeWorld, start } from "../../../support/fake_world.ts";

const digest = `sha256:${"1".repeat(64)}`;
const former = `sha256:${"2".repeat(64)}`;
const signedBy = `sha256:${"a".repeat(64)}`;
const ago = (minutes: number): string => new Date(start - minutes * 60_000).toISOString();

function condition(status: string, reason: string, message: string, observedGeneration = 1): object {
  return { type: "Accepted", status, reason, message, observedGeneration, lastTransitionTime: ago(5) };
}

function world(): FakeWorld {
  const made = new FakeWorld();
  const put = (name: string, status: object | undefined, generation = 1): void => {
    const metadata = { name, generation, creationTimestamp: ago(90) };
    const spec = { reference: `registry.example/${name}:v1`, keys: ["a"] };
    made.kube.put("osimages", { metadata, spec, ...(status ? { status } : {}) });
  };
  put("good", {
    ...{ repository: "registry.example/good", digest, signedBy, conditions: [condition("True", "Accepted", "Signed")] },
    history: [{ digest, signedBy, acceptedAt: ago(5) }, { digest: former, signedBy, acceptedAt: ago(70) }],
  });
  put("bad", {
    digest: former,
    conditions: [condition("False", "SignatureMissing", "No signature\x1b[2J is attached")],
  });
  put("edited", { digest, conditions: [condition("True", "Accepted", "Signed", 1)] }, 2);
  put("fresh", undefined);
  return made;
}

Deno.test("ostler image list: has a line for each image, and shows no image as accepted whose spec is newer than its result", async () => {
  const { code, out } = await world().run(["image", "list"]);
  equal(code, 0);
  deepEqual(out.trimEnd().split("\n").map((line) => line.split(/ {2,}/)), [
    ["NAME", "REFERENCE", "DIGEST", "ACCEPTED", "REASON", "AGE"],
    ["bad", "registry.example/bad:v1", "sha256:222222222222", "False", "SignatureMissing", "1h30m"],
    ["edited", "registry.example/edited:v1", "sha256:111111111111", "Unknown", "NotEvaluated", "1h30m"],
    ["fresh", "registry.example/fresh:v1", "", "Unknown", "NotEvaluated", "1h30m"].filter((cell) => cell !== ""),
    ["good", "registry.example/good:v1", "sha256:111111111111", "True", "Accepted", "1h30m"],
  ]);
  const { items } = JSON.parse((await world().run(["image", "list", "-o", "json"])).out);
  deepEqual(items.map(({ name, accepted }: Record<string, string>) => [name, accepted]), [
    ...[["bad", "False"], ["edited", "Unknown"], ["fresh", "Unknown"], ["good", "True"]],
  ]);
});

Deno.test("ostler image list: prints a message when there are no images", async () => {
  const { code, out, err } = await new FakeWorld().run(["image", "list"]);
  deepEqual([code, out, err], [0, "", "Nothing to show: the cluster has no OSImage\n"]);
});

Deno.test("ostler image show: shows the complete digest, and the digests that were accepted before", async () => {
  const { code, out } = await world().run(["image", "show", "good"]);
  equal(code, 0);
  match(out, new RegExp(`^digest +${digest}$`, "m"));
  match(out, new RegExp(`^1h10m ago +${former} +${signedBy}$`, "m"));
});

Deno.test("ostler image show: removes control sequences from messages", async () => {
  const { out } = await world().run(["image", "show", "bad"]);
  match(out, /No signature\ufffd\[2J is attached/);
  equal(out.includes("\x1b[2J"), false);
});

Deno.test("ostler image show: refuses an unknown name, and suggests similar names", async () => {
  const { code, err } = await world().run(["image", "show", "goood"]);
  deepEqual([code, err], [1, 'Failed to find OSImage "goood": no such name; did you mean "good"?\n']);
});

Deno.test("ostler image admit: exits with 0 for an accepted image, and with 1 for an image that is refused or cannot be checked", async () => {
  const made = world();
  made.verdict = { outcome: "Accepted", digest };
  const good = await made.run(["image", "admit", "good"]);
  deepEqual([good.code, good.out, made.judged], [0, `OSImage "good" is accepted: ${digest}\n`, ["good"]]);
  made.verdict = { outcome: "Refused", reason: "SignatureMissing", message: "No signature is attached" };
  const bad = await made.run(["image", "admit", "bad"]);
  deepEqual([bad.code, bad.err], [1, 'OSImage "bad" is refused (SignatureMissing): No signature is attached\n']);
  made.verdict = { outcome: "Unknown", reason: "RegistryUnreachable", message: "no response" };
  const away = await made.run(["image", "admit", "bad", "-o", "json"]);
  deepEqual([away.code, JSON.parse(away.out).reason], [1, "RegistryUnreachable"]);
});

Deno.test("ostler image admit: starts no check on a worker when the image does not exist", async () => {
  const made = world();
  equal((await made.run(["image", "admit", "none"])).code, 1);
  deepEqual(made.judged, []);
});

for (
  const args of [
    ["image"],
    ["image", "show"],
    ["image", "sign", "good"],
    ["image", "list", "good"],
    ["image", "admit", "good", "--timeout", "soon"],
  ]
) {
  Deno.test(`ostler ${args.join(" ")}: is a usage error`, async () => {
    const { code, out } = await world().run(args);
    deepEqual([code, out], [2, ""]);
  });
}

Deno.test("completion: suggests the commands of image, and the names of images", async () => {
  const suggested = async (...words: string[]): Promise<string[]> => {
    const { out } = await world().run(["__complete", "image", ...words]);
    return out.trimEnd().split("\n").map((line) => line.split("\t")[0] ?? "");
  };
  deepEqual(await suggested(""), ["list", "show", "admit", ":4"]);
  deepEqual(await suggested("show", "g"), ["good", ":4"]);
});
