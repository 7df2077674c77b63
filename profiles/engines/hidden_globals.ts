/** What templates may use: values that depend on nothing but the data, so that equal data gives equal text. */
const kept = [
  ...["Array", "BigInt", "Boolean", "Error", "Function", "Infinity", "JSON", "Map", "Math", "NaN", "Number", "Object"],
  ...[
    "Proxy",
    "RangeError",
    "Reflect",
    "RegExp",
    "Set",
    "String",
    "Symbol",
    "SyntaxError",
    "TypeError",
    "URL",
    "atob",
    "btoa",
  ],
  ...["decodeURIComponent", "encodeURIComponent", "globalThis", "isFinite", "isNaN", "parseFloat", "parseInt"],
  ...["undefined"],
];

/** Removes every other global, the clock and chance among them, from this process; what cannot be reached needs no permission. */
export function hideGlobals(): void {
  const remove = Reflect.deleteProperty;
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    if (!kept.includes(name)) remove(globalThis, name);
  }
  Object.defineProperty(Math, "random", { value: undefined });
}
