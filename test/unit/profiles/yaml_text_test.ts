import assert from "node:assert/strict";
import process from "node:process";
import { loadYaml } from "@kubernetes/client-node";
import { yamlBlock, yamlEscape, yamlQuote, yamlString } from "../../../profiles/generators/yaml_text.ts";
import { nastyTexts, shown } from "../../support/nasty_text.ts";
import { hasPyYaml, pyYamlLoad } from "../../support/py_yaml.ts";

const seed = Number(process.env["SEED"] ?? 1);
const words = [
  ...["", "~", "null", "yes", "No", "TRUE", "off", "y", "n", "=", "<<", "0", "-1", "+1", "007", "089", "1_000", "0b1"],
  ...["0o17", "0x1F", "1:30", "1:30.5", "1.", ".5", "1.50", "1e3", "-1.5E+3", ".inf", "-.INF", ".NaN", "2020-01-01"],
  ...["2020-1-1", "2020-1-1 1:02:03", "2020-01-01T00:00:00Z", "10.0.0.1:3128", "v1.2", "1.2.3", "-", "--", "- x", "-x"],
  ...["?", "?x", ":", ":x", "x:", "x: y", "x:y", "x #y", "x#y", "a, b", "[a]", "{a}", "p@ss", "@x", "%x", "---", "..."],
];
const texts = [...words, ...nastyTexts(seed, 1500)];

/**
 * Returns for each document whether both parsers, JavaScript's and PyYAML, read exactly the value at the same index
 * of `values` from it. Without PyYAML, only the parser of JavaScript reads the documents.
 */
function readers(documents: string[], values: unknown[]): boolean[] {
  // Python is slow, so it runs only once, for all different documents.
  const [different, python] = [[...new Set(documents)], new Map<string, unknown>()];
  if (hasPyYaml) pyYamlLoad(different).forEach(({ value }, at) => python.set(different[at] ?? "", value));
  const same = (value: unknown, wanted: unknown): boolean => JSON.stringify(value) === JSON.stringify(wanted);
  return documents.map((document, at) => {
    const isSameHere = same(javaScriptLoad(document), values[at]);
    return isSameHere && (!hasPyYaml || same(python.get(document), values[at]));
  });
}

function javaScriptLoad(document: string): unknown {
  try {
    return loadYaml(document);
  } catch {
    return undefined;
  }
}

Deno.test(`yamlString, yamlQuote, yamlEscape: write texts that YAML parsers read back unchanged (seed ${seed})`, () => {
  const documents = [yamlString, yamlQuote, yamlEscape].flatMap((encode) =>
    texts.map((text) => `- ${encode(text)}\n- key: ${encode(text)}\n  ${encode(`${text}x`)}: x\n`)
  );
  const values = documents.map((_, at) => texts[at % texts.length] ?? "").map((
    text,
  ) => [text, { key: text, [`${text}x`]: "x" }]);
  readers(documents, values).forEach((isSame, at) => assert.ok(isSame, documents[at]));
});

Deno.test({
  name: `yamlString: leaves unquoted what both parsers read as the same text (seed ${seed})`,
  ignore: !hasPyYaml,
  fn: () => {
    const bare = readers(texts.map((text) => `- ${text}\n`), texts.map((text) => [text]));
    texts.forEach((text, at) => assert.equal(yamlString(text) === text, bare[at], shown(text)));
  },
});

Deno.test({
  name: `yamlBlock: writes a plain block if both parsers read the same text (seed ${seed})`,
  ignore: !hasPyYaml,
  fn: () => {
    const plain = texts.map((text) => `  content: |-\n    ${text.replaceAll("\n", "\n    ")}`);
    const isPlain = readers(
      plain.map((block) => `- path: x\n${block}\n\n- y\n`),
      texts.map((text) => [{ path: "x", content: text.replace(/\n+$/, "") }, "y"]),
    );
    texts.forEach((text, at) => {
      // yamlBlock never writes U+2028 or U+2029 into a plain block, even if both parsers would read the text back.
      if (/[\u2028\u2029]/.test(text)) return;
      const written = yamlBlock("  content", text, { indent: 2, keep: false });
      assert.equal(written === plain[at], isPlain[at], shown(text));
    });
  },
});

Deno.test(`yamlBlock: writes texts that YAML parsers read back, except for final newlines (seed ${seed})`, () => {
  const told = ([[false, ""], [true, "\n"]] as const).flatMap(([keep, final]) => {
    const blocks = texts.map((text) => yamlBlock("  content", text, { indent: 2, keep }));
    const values = texts.map((text, at) => {
      const rest = text.replace(/\n+$/, "");
      const content = blocks[at]?.startsWith('  content: "') ? text : `${rest}${rest === "" ? "" : final}`;
      return [{ path: "x", content }, "y"];
    });
    return blocks.map((block, at) => ({ document: `- path: x\n${block}\n- y\n`, value: values[at] }));
  });
  const documents = told.map(({ document }) => document);
  readers(documents, told.map(({ value }) => value)).forEach((isSame, at) => assert.ok(isSame, documents[at]));
});
