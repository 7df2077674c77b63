/**
 * Runs V8's garbage collector now, which a program otherwise cannot time:
 * https://nodejs.org/api/v8.html#v8setflagsfromstringflags
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Collects garbage every 20 ms while the work is pending. */
export async function whileCollecting<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(collectGarbage, 20);
  return await work.finally(() => clearInterval(timer));
}
