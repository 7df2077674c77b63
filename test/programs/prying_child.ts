/**
 * Attempts everything that a template could attempt with access to the whole runtime, and answers with the name of each
 * error.
 */
const attempts: Record<string, () => unknown> = {
  read: () => Deno.readTextFileSync("/etc/passwd"),
  write: () => Deno.writeTextFileSync("/tmp/ostler-prying", ""),
  environment: () => Deno.env.toObject(),
  network: () => Deno.listen({ hostname: "127.0.0.1", port: 0 }),
  processes: () => new Deno.Command("/bin/sh", { args: ["-c", "true"] }).outputSync(),
  system: () => Deno.hostname(),
  library: () => Deno.dlopen("/lib/libc.so.6", {}),
};

function tried(attempt: () => unknown): string {
  try {
    attempt();
    return "allowed";
  } catch (error) {
    return error instanceof Error ? error.name : "unknown";
  }
}

function say(answer: object): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(answer)}\n`));
}

say({ id: "ready" });
const buffer = new Uint8Array(10_000);
const size = Deno.stdin.readSync(buffer) ?? 0;
const { id } = JSON.parse(new TextDecoder().decode(buffer.subarray(0, size)));
const found = Object.entries(attempts).map(([what, attempt]) => [what, tried(attempt)]);
say({ id, texts: [JSON.stringify(Object.fromEntries(found))] });
