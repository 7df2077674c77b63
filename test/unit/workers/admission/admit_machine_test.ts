import { deepEqual, equal, match } from "node:assert/strict";
import { parseManifests } from "../../../../deploy/local/stack/manifests.ts";
import { holdAnnotation, victimAnnotation } from "../../../../activities/backends/machine_controller/annotations.ts";
import { admitMachine } from "../../../../workers/admission/admit_machine.ts";
import type { KubeObject } from "../../../../workers/admission/admission_review.ts";
import { request } from "./review_objects.ts";

const { signal } = new AbortController();

function machine(annotations?: Record<string, string>): KubeObject {
  const owner = { apiVersion: "cluster.k8s.io/v1alpha1", kind: "MachineSet", name: "pool-7f9c" };
  const labels = { "machine-template-hash": "new" };
  return {
    metadata: { namespace: "fleet", labels, ownerReferences: [owner], ...(annotations ? { annotations } : {}) },
  };
}

Deno.test("admitMachine: adds Ostler's hold and mark to a new machine, and keeps existing annotations", async () => {
  const admit = admitMachine({ convergedHashOf: () => Promise.resolve("old"), log: { warn: () => {} } });
  const value = "machine-deployment/fleet/pool";
  const marks = { [holdAnnotation]: value, [victimAnnotation]: value };
  deepEqual((await admit(request(machine()), signal)).patch, [
    { op: "add", path: "/metadata/annotations", value: marks },
  ]);
  const { patch = [] } = await admit(request(machine({ mine: "yes" })), signal);
  deepEqual(patch.map(({ path, value }) => [path, value]), [
    ["/metadata/annotations/machine-controller.kubermatic.io~1initializers", value],
    ["/metadata/annotations/cluster.k8s.io~1delete-machine", value],
  ]);
});

Deno.test("admitMachine: admits the machine with a warning when the state of the pool cannot be read", async () => {
  const said: string[] = [];
  const log = { warn: (text: string) => void said.push(text) };
  const admit = admitMachine({ convergedHashOf: () => Promise.reject(new Error("no answer")), log });
  const { denial, patch, warnings: [warning = ""] = [] } = await admit(request(machine()), signal);
  deepEqual([denial, patch], [undefined, undefined]);
  match(warning, /could not determine whether this machine must be held/);
  equal(said.length, 1);
});

Deno.test("admitMachine: adds the same annotations as the MutatingAdmissionPolicy that newer API servers use instead", async () => {
  const file = new URL("../../../../deploy/kubernetes/admission/hold_new_machines.yaml", import.meta.url);
  const [policy] = parseManifests(await Deno.readTextFile(file), "hold_new_machines.yaml");
  for (const mark of [holdAnnotation, victimAnnotation]) match(JSON.stringify(policy), new RegExp(`'${mark}':`));
});
