import type { Cluster } from "../../../../activities/cluster.ts";
import { equal, notEqual, rejects } from "node:assert/strict";
import type { LinedProfile } from "../../../../activities/config/profile_line.ts";
import { resolvedProfile } from "../../../../activities/config/read_profile.ts";
import { profiles, readObject } from "../../../../activities/kube/resources.ts";
import { publishingKube, putProfile } from "../../../support/publishing_kube.ts";
import type { OsProfile } from "../../../../profiles/mod.ts";

/** Returns profile "osp-ubuntu" merged with its parents, which the caller names, as they are stored now. */
async function resolved(kube: Cluster, ...parents: string[]): Promise<OsProfile> {
  const line: LinedProfile[] = [];
  for (const name of ["osp-ubuntu", ...parents]) {
    const ref = { namespace: "kube-system", name };
    line.push({ ref, object: await readObject(kube, profiles, ref) });
  }
  const [first] = line;
  if (!first?.object) throw new Error("Failed to resolve the profile: it does not exist");
  return await resolvedProfile(kube, first.object, line);
}

Deno.test("resolvedProfile: resolves a profile once for all publications, and again only after the profile or its parent changes", async () => {
  const kube = await publishingKube();
  putProfile(kube, { name: "osp-ubuntu", extends: { name: "base" } });
  putProfile(kube, { name: "base", bootstrap: "first" });
  const { client } = kube;
  const first = await resolved(client, "base");
  equal(await resolved(client, "base"), first);
  putProfile(kube, { name: "base", bootstrap: "second" });
  const second = await resolved(client, "base");
  notEqual(second, first);
  equal(await resolved(client, "base"), second);
});

Deno.test("resolvedProfile: refuses an invalid profile each time", async () => {
  const kube = await publishingKube();
  putProfile(kube, { name: "osp-ubuntu", extends: { name: "missing" } });
  const { client } = kube;
  for (let nth = 0; nth < 2; nth++) await rejects(resolved(client), /it does not exist/);
});

Deno.test("resolvedProfile: keeps profiles of each API server apart", async () => {
  const [one, other] = [await publishingKube(), await publishingKube()];
  notEqual(await resolved(one.client), await resolved(other.client));
});
