/** What one render left behind would be there for the next: a secret, or a count that makes each config another one. */

const { freeze, getOwnPropertyDescriptor, getPrototypeOf } = Object;
const { deleteProperty, ownKeys } = Reflect;
const frozen = new WeakSet<object>();

/** Makes everything unchangeable that can be reached from these values: properties, accessors and prototypes. */
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

// Templates can have these too, though no global that they see leads there.
const query = new URL("https://ostler.invalid").searchParams;
const lists = [[], new Map(), new Set(), query].map((list) => list.keys());
const iterators = ["".matchAll(/./g), ""[Symbol.iterator](), [].values().map(String), Iterator.from({ next: freeze })];
const generators = [function* (): Generator<void> {}, async function* (): AsyncGenerator<void> {}];
const belongings = [query, ...lists, ...iterators, ...generators, async (): Promise<void> => {}, Promise, DOMException];

/** Freezes the language itself: the globals that are left, and what their values are made of. */
export function freezeRealm(): void {
  forgetMatches();
  letErrorsHaveNames();
  // Stacks tell where Ostler is installed.
  Error.stackTraceLimit = 0;
  freezeAll(globalThis, ...belongings);
}

/** RegExp tells what was matched last, whoever did it. */
function forgetMatches(): void {
  const harmless = ["length", "name", "prototype", "escape"];
  for (const name of Object.getOwnPropertyNames(RegExp)) if (!harmless.includes(name)) deleteProperty(RegExp, name);
}

/** An error gives itself a name, which a frozen one of its prototype would not let it. */
function letErrorsHaveNames(): void {
  Object.defineProperty(Error.prototype, "name", {
    get: (): string => "Error",
    set(name: string): void {
      Object.defineProperty(this, "name", { value: name, configurable: true, writable: true });
    },
  });
}
