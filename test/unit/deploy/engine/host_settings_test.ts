import assert from "node:assert/strict";
import { join } from "node:path";
import { type HostSettings, SavedHostSettings } from "../../../../deploy/local/engine/host_settings.ts";
import { scratchDirectory } from "../../../support/scratch_directory.ts";
import { FakeProc } from "./fake_proc.ts";

/** A kernel whose settings are those of a fresh host, and the folder in which they are saved. */
async function freshHost(): Promise<AsyncDisposable & { proc: FakeProc; saved: SavedHostSettings; file: string }> {
  const [scratch, proc] = [await scratchDirectory(), await FakeProc.create()];
  await proc.write("sys/kernel/panic", "0\n");
  await proc.write("sys/vm/overcommit_memory", "0\n");
  await proc.write("sys/net/ipv4/ip_forward", "0\n");
  const dispose = async (): Promise<void> => {
    await proc[Symbol.asyncDispose]();
    await scratch[Symbol.asyncDispose]();
  };
  const file = join(scratch.path, "host_settings.json");
  return { proc, file, saved: new SavedHostSettings(scratch.path, proc.path), [Symbol.asyncDispose]: dispose };
}

/** Restores the saved settings; returns those that would be written to the kernel, or undefined if none would be. */
async function restore(saved: SavedHostSettings): Promise<HostSettings | undefined> {
  let written: HostSettings | undefined;
  const changed = await saved.restore((settings) => Promise.resolve(void (written = settings)));
  assert.deepEqual(changed, written ?? {});
  return written;
}

Deno.test("SavedHostSettings: restores only changed settings, once", async () => {
  await using host = await freshHost();
  await host.saved.save();
  await host.proc.write("sys/kernel/panic", "10\n");
  assert.deepEqual(await restore(host.saved), { "kernel/panic": "0" });
  assert.equal(await restore(host.saved), undefined);
  await assert.rejects(Deno.stat(host.file), Deno.errors.NotFound);
});

Deno.test("SavedHostSettings: keeps the values of the first save, because machines change the host before later saves", async () => {
  await using host = await freshHost();
  await host.saved.save();
  await host.proc.write("sys/kernel/panic", "10\n");
  await host.saved.save();
  await host.proc.write("sys/vm/overcommit_memory", "1\n");
  assert.deepEqual(await restore(host.saved), { "kernel/panic": "0", "vm/overcommit_memory": "0" });
});

Deno.test("SavedHostSettings: keeps its file when the kernel refuses, so that the next run retries", async () => {
  await using host = await freshHost();
  await host.saved.save();
  await host.proc.write("sys/kernel/panic", "10\n");
  await assert.rejects(host.saved.restore(() => Promise.reject(new Error("read-only"))), /read-only/);
  assert.deepEqual(await restore(host.saved), { "kernel/panic": "0" });
});

Deno.test("SavedHostSettings: ignores the values of an earlier boot", async () => {
  await using host = await freshHost();
  await host.saved.save();
  await host.proc.write("sys/kernel/random/boot_id", "b007-2d\n");
  await host.proc.write("sys/kernel/panic", "5\n");
  await host.saved.save();
  await host.proc.write("sys/kernel/panic", "10\n");
  assert.deepEqual(await restore(host.saved), { "kernel/panic": "5" });
});

Deno.test("SavedHostSettings: keeps forwarding enabled for an engine that runs in this network namespace", async () => {
  await using host = await freshHost();
  for (const [network, expected] of [[4026531840, undefined], [1, { "net/ipv4/ip_forward": "0" }]] as const) {
    await host.proc.write("sys/net/ipv4/ip_forward", "0\n");
    await host.saved.save();
    await host.proc.write("sys/net/ipv4/ip_forward", "1\n");
    await host.proc.process(77, { name: "dockerd", network });
    assert.deepEqual(await restore(host.saved), expected);
  }
});
