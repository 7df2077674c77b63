import { deepEqual, equal, match } from "node:assert/strict";
import { admitConfig } from "../../../../workers/admission/admit_config.ts";
import type { AdmissionRequest, KubeObject, Verdict } from "../../../../workers/admission/admission_review.ts";
import { readConfig } from "../../../../workers/config.ts";
import { request } from "./review_objects.ts";

const worker = "system:serviceaccount:ostler-system:ostler-worker";

function config(osVersion: string, labels: Record<string, string> = {}): KubeObject {
  return { metadata: { name: "pool-fleet-config", namespace: "kube-system", labels }, spec: { osVersion } };
}

async function judge(asked: AdmissionRequest, username = "ada"): Promise<Verdict> {
  const admit = admitConfig(readConfig({}).trustedUsers);
  return await admit({ ...asked, userInfo: { username } }, new AbortController().signal);
}

Deno.test("admitConfig: lets every user with permission create and delete a config, and change its metadata", async () => {
  deepEqual(await judge(request(config("1"))), {});
  deepEqual(await judge(request(null, config("1"))), {});
  deepEqual(await judge(request(config("1", { mine: "yes" }), config("1"))), {});
});

Deno.test("admitConfig: lets only Ostler change the spec of a config", async () => {
  const changed = request(config("2"), config("1"));
  deepEqual(await judge(changed, worker), {});
  const { denial } = await judge(changed);
  equal(denial?.code, 403);
  match(
    denial.message,
    /"pool-fleet-config": Ostler renders it; change the OperatingSystemProfile or the MachineDeployment/,
  );
});
