/** Both reads of a reconcile in one step. */
import type { DesiredState, PoolQuestion, PoolSnapshot } from "../../workflows/contracts/mod.ts";
import type { DesiredReader } from "./read_desired.ts";
import { readDesired } from "./read_desired.ts";
import { readPool } from "./read_pool.ts";

/** Reads the desired state, then the machines, unless another template is desired by now than the question is about. */
export async function readRound(
  reader: DesiredReader,
  question: PoolQuestion,
): Promise<{ seen: DesiredState; pool: PoolSnapshot | null }> {
  const seen = await readDesired(reader, question.pool);
  const isSame = seen.state === "Present" && seen.desired.templateHash === question.templateHash;
  return { seen, pool: isSame && seen.desired.settled ? await readPool(reader.kube, question) : null };
}
