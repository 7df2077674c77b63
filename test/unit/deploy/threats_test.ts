/** deploy/THREATS.md answers the same four questions for each identity, and names tests or commands as proof. */
import { deepEqual, ok } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** The page with one line for each paragraph and each item of a list. */
const page = readFileSync(`${root}deploy/THREATS.md`, "utf8").replaceAll(/\n(?: {2,}|(?=[^\n#\-\d]))/g, " ");

const [intro = "", ...sections] = page.split(/^## /m);
const answers = ["Shortest path", "Stopped by", "Not stopped", "Switch"];

const identities = sections.map((text) => {
  const [title = "", ...lines] = text.trim().split("\n");
  return { title: title.split(" - ")[0]!, lines: lines.filter((line) => line.startsWith("- ")) };
}).filter(({ title }) => !title.startsWith("Not covered"));

function answerOf(lines: readonly string[], what: string): string {
  return lines.find((line) => line.startsWith(`- **${what}**: `)) ?? "";
}

/**
 * Returns the titles of tests that are quoted after the path of a test file; further quotes belong to the same file.
 */
function evidenceIn(text: string): [file: string, quote: string][] {
  return [...text.matchAll(/`(test\/[^`]+\.ts)`((?:[^`"]{0,120}"[^"]+")+)/g)].flatMap(([, file = "", rest = ""]) =>
    [...rest.matchAll(/"([^"]+)"/g)].map(([, quote = ""]): [string, string] => [file, quote])
  );
}

Deno.test("fault S11: THREATS.md begins with five lines that harden an installation", () => {
  const lines = intro.split("\n").filter((line) => /^\d\. /.test(line));
  deepEqual(lines.map((line) => line[0]), ["1", "2", "3", "4", "5"]);
});

Deno.test("fault S11: THREATS.md states for each identity the shortest attack path, what stops it, what does not, and the switch", () => {
  ok(identities.length > 15);
  for (const { title, lines } of identities) {
    deepEqual(lines.map((line) => /^- \*\*([^*]+)\*\*/.exec(line)?.[1]), answers, title);
  }
});

Deno.test("fault S11: each claim of THREATS.md names a test or a command", () => {
  for (const { title, lines } of identities) {
    const stopped = answerOf(lines, "Stopped by");
    const hasCommand = /`(kubectl|ostler|helm) [^`]+`/.test(lines.join("\n"));
    ok(evidenceIn(stopped).length > 0 || hasCommand, title);
  }
});

Deno.test("fault S11: the tests, files and settings that THREATS.md names exist", () => {
  const evidence = evidenceIn(page);
  ok(evidence.length > 25, String(evidence.length));
  const textOf = (file: string): string => existsSync(`${root}${file}`) ? readFileSync(`${root}${file}`, "utf8") : "";
  deepEqual(evidence.filter(([file, quote]) => !textOf(file).includes(quote)), []);
  const paths = [...page.matchAll(/`((?:test|deploy|docs|activities|profiles)\/[^`\s]+)`/g)].map(([, path = ""]) =>
    path
  );
  deepEqual(paths.filter((path) => !existsSync(`${root}${path}`)), []);
  const schema = readFileSync(`${root}deploy/chart/values.schema.json`, "utf8");
  const settings = [...page.matchAll(/`settings\.([a-z-]+)/g)].map(([, flag = ""]) => flag);
  deepEqual(settings.filter((flag) => !schema.includes(`"${flag}": {`)), []);
});

Deno.test("fault S11: THREATS.md has a section for each ServiceAccount of the manifests", () => {
  for (const account of ["Controller", "Worker", "Webhook", "Setup Job"]) {
    ok(identities.some(({ title }) => title.startsWith(account)), account);
  }
});
