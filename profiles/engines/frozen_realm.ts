/**
 * Freezes the realm of a process, so that a render cannot leave anything for the next one: a secret, or a counter that
 * makes every config different.
 */

const { freeze, getOwnPropertyDescriptor, getPrototypeOf } = Object;
const { deleteProperty, ownKeys } = Reflect;
const frozen = new WeakSet<object>();

/** Freezes everything that is reachable from these values: properties, accessors and prototypes. */
export function freezeAll(...values: unknown[]): void {
  for (const value of values) {
    const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
    if (!isObject || frozen.has(value)) continue;
    frozen.add(value);
    values.push(getPrototypeOf(freeze(value)));
    for (const key of ownKeys(value)) {
      const { value: inner, get, set } = getOwnPropertyDescriptor(value, key) ?? {};
      values.push(inner, get, set);
    }
  }
}

// Templates can obtain these objects too, although no visible global leads to them.
const query = new URL("https://ostler.invalid").searchParams;
const lists = [[], new Map(), new Set(), query].map((list) => list.keys());
const iterators = ["".matchAll(/./g), ""[Symbol.iterator](), [].values().map(String), Iterator.from({ next: freeze })];
const generators = [function* (): Generator<void> {}, async function* (): AsyncGenerator<void> {}];
const belongings = [query, ...lists, ...iterators, ...generators, async (): Promise<void> => {}, Promise, DOMException];

/** Freezes the remaining globals and all built-in objects. */
export function freezeRealm(): void {
  forgetMatches();
  letErrorsHaveNames();
  // Stack traces reveal where Ostler is installed.
  Error.stackTraceLimit = 0;
  freezeAll(globalThis, ...belongings);
}

/** Removes the static properties of RegExp that reveal the last match, even one of another render. */
function forgetMatches(): void {
  const harmless = ["length", "name", "prototype", "escape"];
  for (const name of Object.getOwnPropertyNames(RegExp)) if (!harmless.includes(name)) deleteProperty(RegExp, name);
}

/** Lets an error set its own name, which the frozen property of its prototype would prevent. */
function letErrorsHaveNames(): void {
  Object.defineProperty(Error.prototype, "name", {
    get: (): string => "Error",
    set(name: string): void {
      Object.defineProperty(this, "name", { value: name, configurable: true, writable: true });
    },
  });
}
