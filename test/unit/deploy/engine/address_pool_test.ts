import assert from "node:assert/strict";
import { chooseAddressPool, routedNetworks } from "../../../../deploy/local/engine/address_pool.ts";
import { daemonConfig } from "../../../../deploy/local/engine/daemon_config.ts";
import { engineFolders } from "../../../../deploy/local/engine/engine_folders.ts";

Deno.test("chooseAddressPool: skips pools that overlap a network in use", () => {
  assert.equal(chooseAddressPool([]).cidr, "10.201.0.0/20");
  assert.equal(chooseAddressPool(["192.168.0.0/16", "10.96.0.0/12", "10.200.0.0/16"]).cidr, "10.201.0.0/20");
  assert.equal(chooseAddressPool(["10.201.15.255"]).cidr, "10.202.0.0/20");
  assert.equal(chooseAddressPool(["10.201.16.0/20"]).cidr, "10.201.0.0/20");
  const pool = chooseAddressPool(["10.192.0.0/12", "10.208.7.0/24"]);
  assert.deepEqual(pool, { cidr: "10.209.0.0/20", bridgeAddress: "10.209.0.1/24" });
});

Deno.test("chooseAddressPool: throws when a route covers all pools", () => {
  assert.throws(() => chooseAddressPool(["10.0.0.0/8"]), /Failed to find free addresses for machines/);
});

Deno.test("routedNetworks: omits default routes", () => {
  const routes = [{ dst: "default" }, { dst: "0.0.0.0/1" }, { dst: "10.8.0.0/24" }, { dst: "10.8.0.1" }, {}];
  assert.deepEqual(routedNetworks(routes), ["10.8.0.0/24", "10.8.0.1"]);
});

Deno.test("engineFolders: returns a socket path and a bridge name that are short enough for the kernel", () => {
  const folders = engineFolders("/run/ostler", `/home/${"long/".repeat(40)}docker`);
  assert.ok(folders.socketPath.length < 108);
  assert.ok(folders.bridge.length < 16);
  assert.notEqual(folders.socketPath, engineFolders("/run/ostler", "/elsewhere").socketPath);
});

Deno.test("daemonConfig: shares no folder, bridge or firewall chain with another engine", () => {
  const folders = engineFolders("/run/ostler", "/cache/docker");
  const config = daemonConfig(folders, chooseAddressPool([]), undefined);
  assert.equal(config["data-root"], "/cache/docker/data");
  assert.equal(config.iptables, false);
  assert.equal(config.bridge, folders.bridge);
  assert.equal(config["default-cgroupns-mode"], "private");
  assert.ok(!("default-runtime" in config));
  assert.equal(daemonConfig(folders, chooseAddressPool([]), "/w")["default-runtime"], "ostler-runc");
});
