import { open } from "node:fs/promises";

const longestTailBytes = 16 * 1024;

/** Returns the last `lines` lines of a file after byte `from`; empty if the file cannot be read. */
export async function logTail(path: string, { lines = 20, from = 0 }: { lines?: number; from?: number } = {}): Promise<
  string
> {
  try {
    await using file = await open(path, "r");
    const { size } = await file.stat();
    const start = Math.max(from, size - longestTailBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.max(size - start, 0)), { position: start });
    return buffer.subarray(0, bytesRead).toString("utf8").trimEnd().split("\n").slice(-lines).join("\n");
  } catch {
    // An unreadable log must not hide the failure that the caller reports together with the log.
    return "";
  }
}
