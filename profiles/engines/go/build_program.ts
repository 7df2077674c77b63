// deno-lint-ignore-file no-console -- this program prints what it built
/**
 * Builds the program that renders Go templates. The program is in the repository, so only changes of its source need
 * Go.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { constants, zstdCompressSync } from "node:zlib";

/** The required version of Go, because another version builds other bytes. */
export const goVersion = "go1.26.8";

const folder = fileURLToPath(new URL(".", import.meta.url));
const target = {
  GOOS: "wasip1",
  GOARCH: "wasm",
  CGO_ENABLED: "0",
  GOFLAGS: "-mod=readonly",
  GOTOOLCHAIN: "local",
  GOWORK: "off",
};
const flags = ["-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid="];

/** The content of engine.json: version of Go, and SHA-256 of the source, of the program and of its compressed form. */
export interface ProgramRecord {
  go: string;
  source: string;
  program: string;
  packed: string;
}

/** Returns the SHA-256 of everything that decides the program: version, flags and every source file with its name. */
export function sourceDigest(): string {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /(\.go|^go\.mod|^go\.sum)$/.test(file))
    .map((file) => [file.replaceAll("\\", "/"), readFileSync(folder + file, "utf8")])
    .sort(([a = ""], [b = ""]) => a < b ? -1 : 1);
  return sha256(JSON.stringify([goVersion, target, flags, files]));
}

export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** Runs Go in the folder of the source and returns its output; rejects with its error output if it fails. */
export async function runGo(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("go", { args, cwd: folder, env: target }).output();
  const [output, cause] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes).trim());
  if (!success) throw new Error(`Failed to run "go ${args.join(" ")}": ${cause}`);
  return output ?? "";
}

/** Builds the program from the current source and returns its bytes. */
export async function buildProgram(): Promise<Uint8Array> {
  const out = mkdtempSync(join(tmpdir(), "ostler-go-"));
  try {
    await runGo("build", ...flags, "-o", join(out, "engine.wasm"), ".");
    return readFileSync(join(out, "engine.wasm"));
  } finally {
    rmSync(out, { recursive: true });
  }
}

async function main(): Promise<void> {
  const found = await runGo("env", "GOVERSION");
  if (found !== goVersion) throw new Error(`Failed to build the program: it needs ${goVersion}, found ${found}`);
  await runGo("vet", "./...");
  const program = await buildProgram();
  // Each start of a process decompresses the program: brotli would save a sixteenth of the bytes but take three times
  // as long.
  const packed = zstdCompressSync(program, { params: { [constants.ZSTD_c_compressionLevel]: 19 } });
  const record: ProgramRecord = {
    go: goVersion,
    source: sourceDigest(),
    program: sha256(program),
    packed: sha256(packed),
  };
  writeFileSync(`${folder}engine.wasm.zst`, packed);
  writeFileSync(`${folder}engine.json`, `${JSON.stringify(record, null, 2)}\n`);
  console.log(`engine.wasm.zst: ${packed.length} bytes, ${program.length} unpacked`);
}

if (import.meta.main) await main();
