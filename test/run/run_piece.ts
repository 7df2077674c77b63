/** Runs one piece, and counts its tests. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseTimes } from "./busy_cores.ts";
import { type Children, root } from "./children.ts";
import { closingLine, type Counts, failuresOf, judgeTests, nothing, oneFailed } from "./counts.ts";
import { secondsOfFiles, testsThat, type Timed } from "./counts.ts";
import type { Piece, Tests } from "./pieces.ts";

/** The result of a piece. */
export interface Ending {
  counts: Counts;
  /** The failed tests with their errors. */
  failures: string[];
  /** The skipped tests, by file and name. */
  skips: string[];
  /** How long the piece took; if it ran several files, by file. */
  times: Timed[];
  /** The CPU time of the piece in seconds, without containers; undefined if the piece was killed. */
  coreSeconds?: number;
  note: string;
}

/** The inputs for running a piece. */
export interface Runner {
  children: Children;
  /** Flags of `deno test` that a person added. */
  extra: readonly string[];
  env: Record<string, string>;
  /** Receives the whole output of a piece when it has ended; without it the piece writes to the terminal. */
  say?: (text: string) => void;
}

/** Resolves when the piece has ended, in any way. */
export async function runPiece(piece: Piece, runner: Runner): Promise<Ending> {
  const start = performance.now();
  const folder = mkdtempSync(join(tmpdir(), "ostler-test-"));
  const log = join(folder, "log");
  try {
    const ending = await runIn(folder, piece, { ...runner, ...(runner.say && { log }) });
    const seconds = (performance.now() - start) / 1000;
    const text = existsSync(log) ? readFileSync(log, "utf8").trimEnd() : "";
    const coreSeconds = existsSync(join(folder, "times")) && parseTimes(readFileSync(join(folder, "times"), "utf8"));
    const result = piece.tests ? closingLine(ending.counts) : ending.note || "ok";
    const note = piece.tests && ending.note !== "" ? `; ${ending.note}` : "";
    runner.say?.(
      `== ${piece.title}\n${text}${text && "\n"}${piece.title}: ${result} in ${seconds.toFixed(1)} s${
        coreSeconds ? `, ${coreSeconds.toFixed(1)} s of a core` : ""
      }${note}\n`,
    );
    const times = ending.times.length > 1 ? ending.times : [{ what: piece.title, seconds }];
    return { ...ending, times, ...(coreSeconds ? { coreSeconds } : {}) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function runIn(folder: string, piece: Piece, runner: Runner & { log?: string }): Promise<Ending> {
  const { tests, args = [], limitMinutes } = piece;
  const { children, env, extra, log } = runner;
  const report = join(folder, "junit.xml");
  const test = tests && ["test", ...tests.allow, `--junit-path=${report}`, ...extra, ...entryOf(folder, tests)];
  const times = join(folder, "times");
  const order = { args: test ?? [...args], limitMinutes, env, times, ...(log === undefined ? {} : { log }) };
  const { isSuccess, isStopped, note = "" } = await children.run(order);
  if (tests === undefined) return { counts: isSuccess ? nothing : oneFailed, failures: [], skips: [], times: [], note };
  // The report of a stopped run is ignored, because pending tests count there as passed.
  const junit = !isStopped && existsSync(report) ? readFileSync(report, "utf8") : undefined;
  const text = junit ?? "";
  const counts = judgeTests(isSuccess, junit);
  return { counts, failures: failuresOf(text), skips: testsThat("skipped", text), times: secondsOfFiles(text), note };
}

/** The modules that Deno loads: files that share a process are imported by a generated one. */
function entryOf(folder: string, { files, isShared }: Tests): string[] {
  if (!isShared || files.length === 1) return [...files];
  const entry = join(folder, "all_test.ts");
  const urls = files.map((file) => pathToFileURL(resolve(root, file)).href);
  writeFileSync(entry, urls.map((url) => `import ${JSON.stringify(url)};\n`).join(""));
  return [entry];
}
