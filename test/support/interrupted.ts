/** A client that is interrupted at one of its calls. */

export interface Interruption {
  /** Number of the call that is interrupted, from 0. */
  at: number;
  /** Whether the call fails before it has an effect, or after it, because only the response was lost. */
  when: "before" | "after";
  /** Whether all later calls fail too, as in a dead process, or only this call fails. */
  then: "dead" | "alive";
}

/**
 * Returns a client with the same calls, of which the chosen one fails like a broken connection; `onCall` is called for
 * each.
 */
export function interrupted<T extends object>(client: T, { at, when, then }: Interruption, onCall: () => void): T {
  let calls = 0;
  const broken = (): Error => Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
  const call = async (work: () => Promise<unknown>): Promise<unknown> => {
    const nth = calls++;
    onCall();
    if (nth > at && then === "dead") throw broken();
    if (nth === at && when === "before") throw broken();
    const answer = await work();
    if (nth === at) throw broken();
    return answer;
  };
  const group = (methods: object): object =>
    new Proxy(methods, {
      get: (target, name) => (...given: unknown[]) =>
        call(() => (Reflect.get(target, name) as (...given: unknown[]) => Promise<unknown>)(...given)),
    });
  const groups = Object.entries(client).map(([name, methods]) => [name, group(methods as object)]);
  return Object.fromEntries(groups) as T;
}
