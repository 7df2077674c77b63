import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { zstdDecompressSync } from "node:zlib";
import {
  buildProgram,
  goVersion,
  type ProgramRecord,
  runGo,
  sha256,
  sourceDigest,
} from "../../../profiles/engines/go/build_program.ts";

const folder = new URL("../../../profiles/engines/go/", import.meta.url);
const record: ProgramRecord = JSON.parse(readFileSync(new URL("engine.json", folder), "utf8"));
const packed = readFileSync(new URL("engine.wasm.zst", folder));
const unlike = `is not that of engine.json: run "deno task go:build"`;

Deno.test("Go program: engine.json has the digests of the source and of engine.wasm.zst", () => {
  assert.equal(record.go, goVersion);
  assert.equal(sourceDigest(), record.source, `The source in profiles/engines/go ${unlike}`);
  assert.equal(sha256(packed), record.packed, `engine.wasm.zst ${unlike}`);
  assert.equal(sha256(zstdDecompressSync(packed)), record.program, `The content of engine.wasm.zst ${unlike}`);
});

/** Why the program cannot be built here; undefined if it can. */
async function obstacle(): Promise<string | undefined> {
  try {
    const found = await runGo("env", "GOVERSION");
    if (found !== goVersion) return `it is built with ${goVersion}, and here is ${found}`;
    await runGo("mod", "download");
  } catch (error) {
    return String(error).split("\n")[0];
  }
}

const found = await obstacle();

Deno.test({
  name: `Go program: is byte for byte the build of its source${found === undefined ? "" : ` (skipped: ${found})`}`,
  ignore: found !== undefined,
  async fn(): Promise<void> {
    assert.equal(sha256(await buildProgram()), record.program, `A new build ${unlike}`);
  },
});

Deno.test({
  name: "Go source: is formatted as by gofmt",
  ignore: found !== undefined,
  async fn(): Promise<void> {
    const gofmt = join(await runGo("env", "GOROOT"), "bin", "gofmt");
    const { stdout } = await new Deno.Command(gofmt, { args: ["-l", fileURLToPath(folder)] }).output();
    assert.equal(new TextDecoder().decode(stdout), "");
  },
});
