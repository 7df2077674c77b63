/** The process that renders Eta. */
import { answerLines } from "./child_lines.ts";
import { FileFault, renderStrictly } from "./eta_render.ts";
import { freezeRealm } from "./frozen_realm.ts";

/** The globals that templates can use; their results depend only on the data, so that equal data gives equal text. */
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

const { parse, stringify } = JSON;

function answer(line: string): string {
  const { id, files, snippets, data } = parse(line);
  try {
    return stringify({ id, texts: renderStrictly({ files, snippets, data }) });
  } catch (error) {
    const fault = error instanceof Error ? error.message : "it threw a value that is not an Error";
    return stringify({ id, fault, ...(error instanceof FileFault ? { file: error.file } : {}) });
  }
}

// Without a clock and random numbers, equal data gives equal text.
Object.defineProperty(Math, "random", { value: undefined });
freezeRealm(kept);
answerLines(answer);
