// Each default profile × provider × kubelet minor × variant, validated with external tools: what is the same on many
// machines is validated once, and all texts of a kind together.
import assert from "node:assert/strict";
import { closeTemplateEngines, defaultProfiles } from "../../profiles/mod.ts";
import { allJudges } from "./all_judges.ts";
import { type Fault, type Judge, tellFaults } from "./judge.ts";
import { type Machine, phases, renderMatrix } from "./matrix.ts";
import { type Piece, piecesOf } from "./piece.ts";
import { tellProgress } from "./progress.ts";
import { lostFiles } from "./read_back.ts";

interface Matrix {
  machines: Machine[];
  pieces: Piece[];
}

let matrix: Promise<Matrix> | undefined;
const verdicts = new Map<Judge, Promise<Fault[]>>();

async function render(): Promise<Matrix> {
  try {
    const machines = await renderMatrix((done, all) => tellProgress(`rendered ${done} of ${all} machines`));
    return { machines, pieces: piecesOf(machines) };
  } finally {
    await closeTemplateEngines();
  }
}

async function judgeAll(judge: Judge, all: readonly Piece[]): Promise<Fault[]> {
  const judged = all.filter(({ kind }) => judge.judges(kind));
  const start = performance.now();
  const faults = await judge.judge(judged);
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  tellProgress(`${judge.promise}: ${judged.length} texts in ${seconds} s`);
  return faults;
}

function verdictOf(judge: Judge, all: readonly Piece[]): Promise<Fault[]> {
  const verdict = verdicts.get(judge) ?? judgeAll(judge, all);
  verdicts.set(judge, verdict);
  return verdict;
}

function isSeenOn(piece: Piece, profile: string): boolean {
  return piece.seenOn.some((machine) => machine.profile === profile);
}

for (const { metadata: { name }, spec } of await defaultProfiles()) {
  for (const judge of allJudges) {
    if (judge.utility !== undefined && judge.utility !== spec.provisioningUtility) continue;
    const lack = await judge.missing();
    Deno.test({
      name: `${name}: ${judge.promise}${lack === undefined ? "" : ` (skipped: ${lack})`}`,
      ignore: lack !== undefined,
      async fn(): Promise<void> {
        const { pieces } = await (matrix ??= render());
        assert.ok(
          pieces.some((piece) => judge.judges(piece.kind) && isSeenOn(piece, name)),
          "Nothing to validate",
        );
        const faults = (await verdictOf(judge, pieces)).filter(({ piece }) => isSeenOn(piece, name));
        if (faults.length > 0) assert.fail(`\n${tellFaults(name, faults)}`);
      },
    });
  }
  Deno.test(`${name}: user-data has every file unchanged`, async () => {
    const machines = (await (matrix ??= render())).machines.filter(({ profile }) => profile === name);
    assert.ok(machines.length > 0);
    for (const machine of machines) {
      for (const phase of phases) assert.deepEqual(lostFiles(machine, phase), [], `${phase} on ${machine.label}`);
    }
  });
}
