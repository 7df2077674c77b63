/** How machines of a fake pool pass the join stages. */
import type { JoinDeadlines, JoinVerdict, Rung } from "../../workflows/contracts/mod.ts";
import { nodeOf } from "./fake_pool.ts";
import type { FakeMachine, FakePool } from "./fake_pool.ts";

/** Returns the verdict once each machine has joined or has missed a deadline; undefined before that. */
export function climb(
  pool: FakePool,
  asked: { machine: string; deadlines: JoinDeadlines }[],
  kubelet: string,
): JoinVerdict | undefined {
  const verdict: JoinVerdict = { joined: [], failed: [], gone: [] };
  for (const { machine: name, deadlines } of asked) {
    const machine = pool.find(name);
    if (!machine) {
      verdict.gone.push(name);
      continue;
    }
    const rung = rungOf(machine);
    if (rung === "joined") {
      verdict.joined.push({
        machine: name,
        node: nodeOf(name),
        image: machine.set.image,
        kubelet,
        readyAt: Date.now(),
      });
    } else if (Date.now() >= deadlines[rung === "gates" ? "ready" : rung]) {
      verdict.failed.push({ machine: name, rung, evidence: `it stands before "${rung}"` });
    }
  }
  const { joined, failed, gone } = verdict;
  return joined.length + failed.length + gone.length === asked.length ? verdict : undefined;
}

function rungOf(machine: FakeMachine): Rung | "joined" {
  if (!machine.booted) return "instance";
  if (machine.fate === "gates") return "gates";
  if (machine.ready) return "joined";
  return machine.fate === "joins" ? "registered" : machine.fate;
}
