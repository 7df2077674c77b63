/** Which API server receives each request when profiles and configs are in another cluster than the pools. */
import { openCluster } from "../../../../activities/cluster.ts";
import { deepEqual, equal, rejects } from "node:assert/strict";
import { homeOf, type Kube, listThere, sharedNamespace } from "../../../../activities/kube/client.ts";
import { configs, listPage, machineDeployments, profiles, readObject } from "../../../../activities/kube/resources.ts";
import {
  claimForCluster,
  clusterAnnotation,
  clusterMark,
  isOfThisCluster,
} from "../../../../activities/config/identity.ts";

const asked: string[] = [];
const named = { name: "p", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" };

function server(name: string): Kube {
  const answer = (verb: string) => (request: { plural: string; namespace?: string }): Promise<unknown> => {
    asked.push([name, verb, request.plural, request.namespace ?? "*"].join(" "));
    return Promise.resolve({ items: [], spec: {}, metadata: { ...named, namespace: request.namespace } });
  };
  return {
    core: { readNamespace: () => Promise.resolve({ metadata: { uid: `uid-of-${name}` } }) },
    custom: {
      getNamespacedCustomObject: answer("get"),
      listClusterCustomObject: answer("list"),
      listNamespacedCustomObject: answer("list"),
    },
  } as unknown as Kube;
}

const one = openCluster(server("one"));
const management = openCluster(server("management"));
const two = openCluster({ ...server("pools"), management: { kube: management, namespace: "north" } });

Deno.test("home: sends all requests to the same API server when there is no management cluster", async () => {
  asked.length = 0;
  await readObject(one, profiles, { namespace: "kube-system", name: "p" });
  await listThere(one, configs, {});
  deepEqual(asked, ["one get operatingsystemprofiles kube-system", "one list operatingsystemconfigs *"]);
  equal(homeOf(one, profiles), one);
  deepEqual(await clusterMark(one), {});
});

Deno.test("home: reads profiles and configs in one namespace of the management cluster, and all other objects in the cluster of the pools", async () => {
  asked.length = 0;
  await readObject(two, profiles, { namespace: "north", name: "p" });
  await listThere(two, configs, {});
  await listPage(two, machineDeployments, { limit: 1, after: undefined });
  deepEqual(asked, [
    "management get operatingsystemprofiles north",
    "management list operatingsystemconfigs north",
    "pools list machinedeployments *",
  ]);
  deepEqual([sharedNamespace(two, "north"), sharedNamespace(one, "north")], ["kube-system", "north"]);
});

Deno.test("home: refuses to read a namespace of the management cluster that is not the one of this cluster", async () => {
  await rejects(readObject(two, profiles, { namespace: "south", name: "p" }), {
    message: 'Failed to read operatingsystemprofiles in namespace "south": ' +
      'the management cluster has the objects of this cluster in namespace "north" only',
  });
});

Deno.test("home: records the cluster of the pools in each config in the management cluster, and refuses a config of another cluster", async () => {
  deepEqual(await clusterMark(two), { [clusterAnnotation]: "uid-of-pools" });
  const theirs = { [clusterAnnotation]: "uid-of-another" };
  deepEqual(
    await Promise.all([{}, undefined, await clusterMark(two), theirs].map((each) => isOfThisCluster(two, each))),
    [
      ...[true, true, true, false],
    ],
  );
  // A process whose only cluster is the management cluster does not treat a config that is marked for the cluster of
  // the pools as its own.
  equal(await isOfThisCluster(management, await clusterMark(two)), false);
  await rejects(claimForCluster(two, 'config "north/p"', theirs), { type: "NameCollision" });
});
