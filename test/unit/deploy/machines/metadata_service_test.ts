import assert from "node:assert/strict";
import { MetadataService, type Offer } from "../../../../deploy/local/machines/metadata_service.ts";

interface Served {
  service: MetadataService;
  /** Base URL in the boot argument `ds=nocloud-net;s=URL`. */
  base: string;
  fetched: () => number;
}

async function serving(offer: Partial<Offer>, test: (served: Served) => Promise<void>): Promise<void> {
  const service = await MetadataService.start("127.0.0.1");
  let count = 0;
  try {
    const argument = service.offer("w-1", {
      ...{ instanceId: "uid-1", hostname: "w-1", userData: "#cloud-config\n", address: Promise.resolve("127.0.0.1") },
      onFetched: () => void count++,
      ...offer,
    });
    const base = /^ds=nocloud-net;s=(http:\/\/127\.0\.0\.1:\d+\/w-1\/)$/.exec(argument)?.[1] ?? "";
    await test({ service, base, fetched: () => count });
  } finally {
    await service.stop();
  }
}

async function get(url: string): Promise<[status: number, text: string]> {
  const response = await fetch(url);
  return [response.status, await response.text()];
}

Deno.test("MetadataService: serves the three files of NoCloud, and reports when user-data was fetched", async () => {
  await serving({}, async ({ base, fetched }) => {
    assert.deepEqual(await get(`${base}meta-data`), [200, "instance-id: uid-1\nlocal-hostname: w-1\n"]);
    assert.deepEqual(await get(`${base}vendor-data`), [200, ""]);
    assert.equal(fetched(), 0);
    assert.deepEqual(await get(`${base}user-data`), [200, "#cloud-config\n"]);
    assert.equal(fetched(), 1);
  });
});

Deno.test("MetadataService: refuses a machine's user-data to other addresses", async () => {
  await serving({ address: Promise.resolve("127.0.0.9") }, async ({ base, fetched }) => {
    assert.deepEqual(await get(`${base}user-data`), [403, ""]);
    assert.equal(fetched(), 0);
  });
});

Deno.test("MetadataService: waits until the machine's address is known", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  await serving({ address: promise }, async ({ base }) => {
    const asked = get(`${base}user-data`);
    resolve("127.0.0.1");
    assert.deepEqual(await asked, [200, "#cloud-config\n"]);
  });
});

Deno.test("MetadataService: serves only offered machines, and only files of NoCloud", async () => {
  await serving({}, async ({ service, base }) => {
    assert.equal((await get(`${base}network-config`))[0], 404);
    assert.equal((await get(base.replace("w-1", "w-2") + "user-data"))[0], 404);
    service.withdraw("w-1");
    assert.equal((await get(`${base}user-data`))[0], 404);
  });
});
