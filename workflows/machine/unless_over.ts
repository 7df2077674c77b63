/** Work that is called off as soon as nobody waits for its answer any more. */
import { CancellationScope, condition } from "@temporalio/workflow";

/** Gives what the work gives; undefined when it was over before, and then nothing of it is left running. */
export async function unlessOver<T>(isOver: () => boolean, work: () => Promise<T>): Promise<T | undefined> {
  const scope = new CancellationScope();
  const answer = scope.run(work);
  const over = scope.run(() => condition(isOver));
  try {
    return await Promise.race([answer, over.then(() => undefined)]);
  } finally {
    scope.cancel(); // neither is left waiting
    await answer.catch(() => undefined);
  }
}
