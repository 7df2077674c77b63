import assert from "node:assert/strict";
import { MachineBoard } from "../../../../deploy/local/demo/machine_board.ts";
import { phaseOf, type Sighting } from "../../../../deploy/local/demo/machine_phase.ts";

function sighting(name: string, { machine = {}, ...rest }: Overrides = {}): Sighting {
  const base = { name, image: "docker://ostler.example/ubuntu:24.04-1", kubelet: "1.35.3" };
  const facts = { ...base, isHeld: false, isLeaving: false, hasInstance: true, ...machine };
  return { machine: facts, node: undefined, boot: undefined, ...rest };
}

type Overrides = Partial<Omit<Sighting, "machine">> & { machine?: Partial<Sighting["machine"]> };

const ready = { isReady: true, isCordoned: false };
const cordoned = { isReady: true, isCordoned: true };

Deno.test("phaseOf: returns the phase of a machine's life", () => {
  const cases: [Overrides, string][] = [
    [{ machine: { isHeld: true, hasInstance: false } }, "held"],
    [{ machine: { hasInstance: false } }, "created"],
    [{ boot: "booting" }, "booting"],
    [{ boot: "requesting-certificate" }, "requesting certificate"],
    [{ boot: "ready", node: ready }, "Ready"],
    [{ machine: { isHeld: true }, node: ready }, "Ready"],
    [{ machine: { isHeld: true, isLeaving: true }, node: ready }, "to be deleted"],
    [{ machine: { isHeld: true, isLeaving: true }, node: cordoned }, "draining"],
    [{ machine: { isLeaving: true }, node: cordoned }, "shutting down"],
  ];
  for (const [overrides, phase] of cases) assert.equal(phaseOf(sighting("m", overrides)), phase);
});

Deno.test("MachineBoard: keeps the position of each machine's line, and counts the seconds of its phase", () => {
  const board = new MachineBoard();
  board.update([sighting("a", { boot: "booting" }), sighting("b")], new Map(), 1_000);
  const [a, b] = board.update([sighting("b"), sighting("a", { boot: "booting" })], new Map(), 6_000);
  assert.deepEqual([a?.key, b?.key], ["a", "b"]);
  assert.match(a?.text ?? "", /^a +ubuntu:24\.04-1 +v1\.35\.3 +booting$/);
  assert.equal(a?.aside, "  5 s");
  const [later] = board.update([sighting("a", { node: ready }), sighting("b")], new Map(), 7_000);
  assert.equal(later?.aside, "  0 s");
});

Deno.test("MachineBoard: keeps the line of a deleted machine, and names its successor when known", () => {
  const board = new MachineBoard();
  board.update([sighting("a", { node: ready })], new Map(), 0);
  assert.match(board.update([sighting("b")], new Map(), 1_000)[0]?.text ?? "", /deleted$/);
  const [line] = board.update([sighting("b")], new Map([["a", "b"]]), 2_000);
  assert.match(line?.text ?? "", /replaced by b$/);
  assert.equal(line?.aside, undefined);
});
