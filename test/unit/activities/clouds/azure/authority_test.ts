import { equal, match, rejects } from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { managerOf } from "../../../../../activities/clouds/azure/authority.ts";
import { openAzure } from "../../../../../activities/clouds/azure.ts";

const place = { subscription: "s", resourceGroup: "r", clusterTag: "cluster-1" };

for (
  const [authority, manager] of [
    ["", "https://management.azure.com"],
    ["https://login.microsoftonline.com/", "https://management.azure.com"],
    ["https://login.chinacloudapi.cn", "https://management.chinacloudapi.cn"],
    ["login.partner.microsoftonline.cn/", "https://management.chinacloudapi.cn"],
    ["https://LOGIN.microsoftonline.us/", "https://management.usgovcloudapi.net"],
  ] as const
) {
  Deno.test(`openAzure: calls ${manager} with credentials of "${authority}"`, () => {
    equal(managerOf(authority), manager);
  });
}

Deno.test("openAzure: refuses credentials of an unknown cloud", async () => {
  const opened = openAzure({ ...place, authority: "https://login.example.com/" });
  await rejects(opened, { type: "CloudRefused", message: /AZURE_AUTHORITY_HOST is "https:\/\/login.example.com\/"/ });
});

Deno.test("openAzure: requests credentials for the cloud that it calls", async () => {
  // The variables of a managed identity make the SDK request its credentials from this server.
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    response.statusCode = 400;
    response.end("{}");
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const own = {
    IDENTITY_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    ...{ IDENTITY_HEADER: "h", AZURE_TOKEN_CREDENTIALS: "ManagedIdentityCredential" },
  };
  const before = Object.keys(own).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(own)) Deno.env.set(name, value);
  try {
    const driver = await openAzure({ ...place, authority: "https://login.chinacloudapi.cn/" });
    await rejects(driver.groups());
    match(decodeURIComponent(asked.join()), /resource=https:\/\/management\.chinacloudapi\.cn(&|$)/);
  } finally {
    for (const [name, value] of before) value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
});
