// deno-lint-ignore-file no-console -- this program prints its measurements
/**
 * How long it takes to render one MachineDeployment with a default profile, warm, in each engine: the visible config
 * and digest, and user-data with secrets. Exits with 1 if the median of an engine reaches `limitMs`, or its memory
 * grows by `flatMiB` or more.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import {
  closeTemplateEngines,
  configDigest,
  defaultProfiles,
  generateUserData,
  hideSecrets,
  type OsConfig,
  type OsProfile,
  renderConfig,
} from "../../profiles/mod.ts";
import { renderFacts } from "../support/render_facts.ts";
import { type Figure, figuresOf, type Row } from "./figure.ts";
import { goProfileOf } from "./go_profile.ts";

const limitMs = 50;
const renders = 1_000;
/** Memory is read after this many renders, and again after the last one. */
const early = 100;
/**
 * The growth of memory between the two reads that counts as a fault, in MiB: more than what garbage collection may
 * leave uncollected.
 */
const flatMiB = 32;

const facts = renderFacts({ deployment: { kubelet: "1.36.1" }, secrets: { token: "bench-token-0123456789" } });
const user = { name: facts.deployment.name, distUpgradeOnBoot: false };

interface Measurement {
  medianMs: number;
  p95Ms: number;
  firstMs: number;
  /** Memory of this process and of its rendering child processes, in MiB. */
  memory: { early: number; late: number };
}

async function renderOne(profile: OsProfile): Promise<OsConfig> {
  const shown = await renderConfig(profile, hideSecrets(facts));
  configDigest(shown, facts);
  const whole = await renderConfig(profile, facts);
  for (const phase of ["bootstrap", "provisioning"] as const) generateUserData(whole, phase, user);
  return whole;
}

async function measure(profile: OsProfile): Promise<Measurement> {
  const times: number[] = [];
  const memory = { early: 0, late: 0 };
  for (let done = 1; done <= renders; done++) {
    const start = performance.now();
    await renderOne(profile);
    times.push(performance.now() - start);
    if (done === early) memory.early = memoryMiB();
  }
  memory.late = memoryMiB();
  await closeTemplateEngines();
  const [firstMs = 0, ...warm] = times;
  const sorted = warm.toSorted((left, right) => left - right);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;
  return { medianMs: at(0.5), p95Ms: at(0.95), firstMs, memory };
}

/** Resident memory of this process and its children, as Linux counts it; elsewhere of this process alone. */
function memoryMiB(): number {
  const list = `/proc/self/task/${process.pid}/children`;
  const children = existsSync(list) ? readFileSync(list, "utf8").split(" ").filter((pid) => pid !== "") : [];
  const bytes = children.map((pid) => {
    const [, kib = "0"] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kib) * 1024;
  });
  return (bytes.reduce((sum, size) => sum + size, process.memoryUsage().rss)) / 2 ** 20;
}

function row(name: string, { medianMs, p95Ms, firstMs, memory }: Measurement): string {
  const times = [medianMs, p95Ms, firstMs].map((ms) => ms.toFixed(1).padStart(8));
  const sizes = [memory.early, memory.late].map((size) => size.toFixed(0).padStart(9));
  return [name.padEnd(6), ...times, ...sizes].join(" ");
}

const name = "osp-ubuntu";

/** Measures both engines with the same work; also returns the number of files that one render makes. */
async function measureEngines(): Promise<{ files: number; measured: Record<"eta" | "go", Measurement> }> {
  const eta = (await defaultProfiles()).find(({ metadata }) => metadata.name === name)?.spec;
  assert.ok(eta);
  const config = await renderOne(eta);
  const go = goProfileOf(eta, config, facts);
  const bytes = (of: OsConfig): unknown => [of.bootstrapConfig.files, of.provisioningConfig.files];
  assert.deepEqual(bytes(await renderOne(go)), bytes(config), "Expected the same files from both engines");
  await closeTemplateEngines();
  const files = config.bootstrapConfig.files.length + config.provisioningConfig.files.length;
  return { files, measured: { eta: await measure(eta), go: await measure(go) } };
}

/** The duration of rendering in each engine. */
export async function measureRender(): Promise<Figure[]> {
  const { measured } = await measureEngines();
  return figuresOf(
    { part: "render", column: "Ostler" },
    Object.entries(measured).flatMap(([engine, { medianMs, p95Ms, memory }]): Row[] => [
      [`one MachineDeployment in ${engine}, p50`, "ms", medianMs],
      [`one MachineDeployment in ${engine}, p95`, "ms", p95Ms],
      [`growth of memory in ${engine}`, "MiB", memory.late - memory.early],
    ]),
  );
}

async function main(): Promise<void> {
  const { files, measured } = await measureEngines();
  const times = `${renders} times in each engine`;
  console.log(`One MachineDeployment with ${name} (${files} files, each rendered twice), ${times}\n`);
  console.log(`engine ms median      p95    first  MiB@${early}  MiB@${renders}`);
  for (const [engine, measurement] of Object.entries(measured)) console.log(row(engine, measurement));
  console.log(`\ngo takes ${(measured.go.medianMs / measured.eta.medianMs).toFixed(2)} times as long as eta`);
  const isFast = Object.values(measured).every(({ medianMs }) => medianMs < limitMs);
  const isFlat = Object.values(measured).every(({ memory }) => memory.late - memory.early < flatMiB);
  const kept = (is: boolean): string => is ? "kept" : "BROKEN";
  console.log(`under ${limitMs} ms: ${kept(isFast)}; memory flat within ${flatMiB} MiB: ${kept(isFlat)}`);
  process.exitCode = isFast && isFlat ? 0 : 1;
}

if (import.meta.main) await main();
