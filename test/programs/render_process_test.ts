import assert from "node:assert/strict";
import { latenessOf } from "../../profiles/engines/patience.ts";
import { processorTimeOf, RenderProcess } from "../../profiles/engines/render_process.ts";

const limits = { startMs: 60_000, heapMiB: 64, answerBytes: 10_000, cpuSeconds: 60 };

async function withProcess(child: string, story: (process: RenderProcess) => Promise<void>): Promise<void> {
  const process = await RenderProcess.start(new URL(child, import.meta.url), limits);
  try {
    await story(process);
  } finally {
    await process.stop();
  }
}

Deno.test("RenderProcess: grants its code no permission at all", () =>
  withProcess("./prying_child.ts", async (process) => {
    const [answer = ""] = await process.ask({}, { limitMs: 10_000 });
    const found = JSON.parse(answer) as Record<string, string>;
    assert.deepEqual(Object.keys(found), ["read", "write", "environment", "network", "processes", "system", "library"]);
    for (const [what, result] of Object.entries(found)) assert.equal(result, "NotCapable", what);
  }));

Deno.test("RenderProcess: counts only the CPU time of a request, and not its waiting time, towards the limit of CPU time", () =>
  withProcess("./idle_child.ts", async (process) => {
    const patience = { limitMs: 60_000, processorMs: 300 };
    assert.deepEqual(await process.ask({ waitMs: 700 }, patience), ["done"]);
    // The limit of 300 ms applies to each request: the CPU time of earlier requests does not count.
    for (let ask = 0; ask < 3; ask++) assert.deepEqual(await process.ask({ workMs: 150 }, patience), ["done"]);
  }));

Deno.test("RenderProcess: ends a render that exceeds its limit of CPU time, even if it waited first", () =>
  withProcess("./idle_child.ts", async (process) => {
    const asked = process.ask({ waitMs: 400, workMs: 60_000 }, { limitMs: 60_000, processorMs: 300 });
    await assert.rejects(asked, { name: "TemplateFault", message: "it did not finish within 300 ms" });
    assert.ok(process.isEnded);
  }));

Deno.test("RenderProcess: fails with RenderTimeout, and not with TemplateFault, at the limit of wall-clock time", () =>
  withProcess("./idle_child.ts", async (process) => {
    const asked = process.ask({ waitMs: 60_000 }, { limitMs: 400, processorMs: 300 });
    await assert.rejects(asked, {
      name: "RenderTimeout",
      message: "Failed to render: the process did not answer in 400 ms",
    });
    assert.ok(process.isEnded);
  }));

Deno.test("latenessOf: uses the wall-clock time when the CPU time is unknown", async () => {
  const late = await latenessOf({ limitMs: 60_000, processorMs: 200 }, undefined, new AbortController().signal);
  assert.equal(late?.message, "it did not finish within 200 ms");
});

Deno.test("processorTimeOf: returns nothing for an ended process", async () => {
  assert.equal(await processorTimeOf(2 ** 30), undefined);
});
