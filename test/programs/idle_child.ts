/** A child process that waits and then works for the requested milliseconds, and answers; waiting takes no CPU time. */
import process from "node:process";
import { answerLines } from "../../profiles/engines/child_lines.ts";

const { threadCpuUsage } = process as typeof process & { threadCpuUsage(): NodeJS.CpuUsage };
const still = new Int32Array(new SharedArrayBuffer(4));

answerLines((line) => {
  const { id, waitMs = 0, workMs = 0 } = JSON.parse(line);
  Atomics.wait(still, 0, 0, waitMs);
  const { user, system } = threadCpuUsage();
  for (let used = 0; used < workMs;) {
    const now = threadCpuUsage();
    used = (now.user + now.system - user - system) / 1000;
  }
  return JSON.stringify({ id, texts: ["done"] });
});
