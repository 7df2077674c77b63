import { deepEqual, equal, notEqual } from "node:assert/strict";
import { OsProfileObject } from "../../../../activities/kube/resources.ts";
import { type LinedProfile, lineState, profileLine } from "../../../../activities/config/profile_line.ts";
import { readDesired } from "../../../../activities/pool/read_desired.ts";
import type { Desired } from "../../../../workflows/contracts/mod.ts";
import { FakeKube } from "../../../support/fake_kube.ts";
import { machineDeployment, pool, putPool } from "../../../support/machine_objects.ts";

function putProfile(kube: FakeKube, name: string, generation: number, parent?: string): void {
  const spec = parent === undefined ? {} : { extends: { name: parent } };
  kube.put("operatingsystemprofiles", { metadata: { namespace: "kube-system", name, generation }, spec });
}

async function desired(kube: FakeKube): Promise<Desired> {
  const seen = await readDesired({ kube: kube.client, profileNamespace: "kube-system" }, pool);
  if (seen.state !== "Present") throw new Error(`Failed to read the pool: it is ${seen.state}`);
  return seen.desired;
}

function poolKube(): FakeKube {
  const kube = new FakeKube();
  putPool(kube);
  putProfile(kube, "osp-ubuntu", 3, "company");
  putProfile(kube, "company", 7, "base");
  putProfile(kube, "base", 1);
  return kube;
}

Deno.test("profileLine: a change of a parent profile requires another reconcile", async () => {
  const kube = poolKube();
  const before = await desired(kube);
  deepEqual(await desired(kube), before);
  putProfile(kube, "base", 2);
  const after = await desired(kube);
  notEqual(after.observed, before.observed);
  notEqual(after.change, before.change);
});

Deno.test("profileLine: a change of a profile parameter requires another reconcile", async () => {
  const kube = poolKube();
  const before = await desired(kube);
  kube.put("machinedeployments", machineDeployment({ annotations: { "parameter.ostler.dev/mirror": "a" } }));
  notEqual((await desired(kube)).observed, before.observed);
  kube.put("machinedeployments", machineDeployment({ annotations: { "example.dev/note": "a" } }));
  equal((await desired(kube)).observed, before.observed);
});

function line(...names: string[]): LinedProfile[] {
  const parents: Record<string, string | undefined> = {};
  names.forEach((name, nth) => parents[name] ??= names[nth + 1]);
  const metadata = { namespace: "n", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z", generation: 4 };
  return profileLine({ namespace: "n", name: names[0] ?? "" }, ({ name }) => {
    if (!(name in parents)) return undefined;
    const parent = parents[name];
    return OsProfileObject.parse({
      metadata: { ...metadata, name },
      spec: parent ? { extends: { name: parent } } : {},
    });
  });
}

Deno.test("profileLine: follows parents only to the depth to which a profile can be rendered", () => {
  deepEqual(line("a", "b", "c").map(({ ref }) => ref.name), ["a", "b", "c"]);
  equal(line("a", "b", "a").length, 6);
});

Deno.test('lineState: returns the generation of a profile without parents, else all generations, with "none" for a missing parent', () => {
  equal(lineState([]), undefined);
  equal(lineState(line("a")), 4);
  equal(lineState(line("a", "b")), "4,4");
  const [child] = line("a", "b");
  equal(lineState([...child ? [child] : [], { ref: { namespace: "n", name: "b" }, object: undefined }]), "4,none");
});
