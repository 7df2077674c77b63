/**
 * Freezes the realm of a process (its globals and built-in objects), so that a render cannot leave anything for the
 * next render, such as a secret, or a counter that makes every config different.
 */

const { defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf } = Object;
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
// All errors share the accessor functions of `stack`, and a template could attach values to these functions.
const errors = [new Error(), new DOMException(), DOMException];
const belongings = [query, ...lists, ...iterators, ...generators, ...errors, async (): Promise<void> => {}, Promise];

/** Removes all globals except those kept, and freezes every class and all built-in objects. */
export function freezeRealm(kept: string[]): void {
  forgetMatches();
  letErrorsHaveNames();
  // Stack traces reveal where Ostler is installed.
  Error.stackTraceLimit = 0;
  const classes = globalClasses();
  for (const name of ownKeys(globalThis)) {
    if (typeof name === "symbol") continue;
    // Deno defines some globals by accessors, whose setters could keep a value for the next render.
    if (kept.includes(name)) defineProperty(globalThis, name, { value: Reflect.get(globalThis, name) });
    else deleteProperty(globalThis, name);
  }
  freezeAll(globalThis, ...classes, ...belongings);
}

/** Returns all global classes; hidden ones too, because an error such as a ReferenceError still leads to its class. */
function globalClasses(): unknown[] {
  const values = ownKeys(globalThis).map((name) => getOwnPropertyDescriptor(globalThis, name)?.value);
  return values.filter((value) => typeof value === "function");
}

/** Removes the static properties of RegExp that reveal the last match, which can be from another render. */
function forgetMatches(): void {
  const harmless = ["length", "name", "prototype", "escape"];
  for (const name of Object.getOwnPropertyNames(RegExp)) if (!harmless.includes(name)) deleteProperty(RegExp, name);
}

/** Lets an error set its own name, which the frozen property of its prototype would prevent. */
function letErrorsHaveNames(): void {
  defineProperty(Error.prototype, "name", {
    get: (): string => "Error",
    set(name: string): void {
      defineProperty(this, "name", { value: name, configurable: true, writable: true });
    },
  });
}
