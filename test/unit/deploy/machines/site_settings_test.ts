import assert from "node:assert/strict";
import { poolAnnotations, siteSettings } from "../../../../deploy/local/machines/container_host.ts";
import type { Mirror } from "../../../../deploy/local/mirror/mirror.ts";
import { parseKubeletAnnotations } from "../../../../profiles/kubelet_settings.ts";
import { parameterPrefix } from "../../../../profiles/mod.ts";
import { readConfig } from "../../../../workers/config.ts";

const mirror: Mirror = {
  url: "http://10.0.0.1:8080",
  digests: `runc/v1/runc.amd64=${"a".repeat(64)}`,
  packagesUrl: "http://10.0.0.1:8080/packages",
  registryMirror: "10.0.0.1:8080=http://10.0.0.1:8080",
  images: { pause: "10.0.0.1:8080/ostler/pause:1", podServer: "10.0.0.1:8080/ostler/pod-server:1" },
  fault: () => Promise.resolve(),
  requests: () => [],
  stop: () => Promise.resolve(),
};

Deno.test("siteSettings: returns only existing settings of Ostler's processes", () => {
  const config = readConfig(siteSettings(mirror, { hasCgroupV2: false, lacksSysResource: true }), []);
  const { binariesUrl, binariesDigests, pauseImage, restrictOomScoreAdj, nodeContainerdRegistryMirrors } = config.node;
  assert.deepEqual({ binariesUrl, binariesDigests, pauseImage, restrictOomScoreAdj, nodeContainerdRegistryMirrors }, {
    binariesUrl: mirror.url,
    binariesDigests: { "runc/v1/runc.amd64": "a".repeat(64) },
    pauseImage: mirror.images.pause,
    restrictOomScoreAdj: true,
    nodeContainerdRegistryMirrors: [mirror.registryMirror],
  });
  const free = siteSettings(mirror, { hasCgroupV2: true, lacksSysResource: false });
  assert.equal(readConfig(free, []).node.restrictOomScoreAdj, false);
});

Deno.test("poolAnnotations: makes kubelets accept cgroup v1 only when the host has no v2", () => {
  const key = `${parameterPrefix}failCgroupV1`;
  assert.equal(poolAnnotations({ hasCgroupV2: false, lacksSysResource: false })[key], "false");
  assert.equal(poolAnnotations({ hasCgroupV2: true, lacksSysResource: false })[key], "true");
});

Deno.test("poolAnnotations: lowers the eviction thresholds of the host's disk, in a format that profiles read", () => {
  const settings = parseKubeletAnnotations(poolAnnotations({ hasCgroupV2: true, lacksSysResource: false }));
  assert.equal(settings.evictionHard?.["nodefs.available"], "1%");
});
