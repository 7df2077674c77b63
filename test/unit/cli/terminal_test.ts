import assert from "node:assert/strict";
import { FakeWorld, namesOf, rollingStatus } from "../../support/fake_world.ts";

const terminal = new URL("../../../cli/terminal.ts", import.meta.url);

/** Returns the exit code of a process that writes on after its reader has closed the pipe; 5 if it reaches its end. */
async function codeWithoutReader(before: string): Promise<number> {
  const script = `
    import { processTerminal } from "${terminal}";
    const terminal = processTerminal();
    ${before}
    for (let line = 0; line < 50; line++) {
      terminal.out("another line\\n");
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    Deno.exit(5);`;
  const command = new Deno.Command(Deno.execPath(), { args: ["eval", script], stdout: "piped", stderr: "null" });
  const child = command.spawn();
  await child.stdout.cancel();
  return (await child.status).code;
}

Deno.test("processTerminal: exits when the reader of the output closes the pipe, except after seeThrough()", async () => {
  assert.equal(await codeWithoutReader(""), 0);
  assert.equal(await codeWithoutReader("terminal.seeThrough();"), 5);
});

Deno.test("terminal: a command that controls rollouts calls seeThrough() before its first pool; a command that only reads does not", async () => {
  const made = new FakeWorld();
  for (const name of ["a", "b"]) made.putPool(rollingStatus(), { name });
  const sentBefore: number[] = [];
  const seeThrough = (): void => void sentBefore.push(made.sent.length);
  await made.run(["status", "-A"], { seeThrough });
  assert.deepEqual(sentBefore, []);
  await made.run(["pause", "-A"], { seeThrough });
  assert.equal(sentBefore[0], 0);
  assert.deepEqual(namesOf(made.sent), [["pause", "a"], ["pause", "b"]]);
});
