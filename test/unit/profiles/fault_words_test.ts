/** Why a schema refuses a value: in words that people understand, and never in those of the schema's library. */
import assert from "node:assert/strict";
import { z } from "zod";
import { inWords, parseProfile, ProfileRefused } from "../../../profiles/mod.ts";
import { refuses } from "./refuses.ts";

const percent = z.union([z.number(), z.string().regex(/^\d+%$/)]);
const step = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("Job") }),
  z.object({ kind: z.literal("Pods") }),
]);
const cases: [string, z.ZodType, unknown, string][] = [
  ["a missing text", z.string(), undefined, "is missing; it must be a text"],
  ["a missing mapping", z.strictObject({}), undefined, "is missing; it must be a mapping"],
  ["a null instead of a mapping", z.strictObject({}), null, "must be a mapping"],
  ["a text instead of a boolean", z.boolean(), "yes", "must be true or false"],
  ["a fraction instead of a whole number", z.int(), 1.5, "must be a whole number"],
  ["a text instead of a list", z.array(z.string()), "x", "must be a list"],
  ["another text than the only valid one", z.literal("Job"), "job", 'must be "Job"'],
  ["a text that is not in an enum", z.enum(["go", "eta"]), "ruby", 'must be one of "go", "eta"'],
  ["a number below the minimum", z.number().min(2), 1, "must be at least 2"],
  ["a number above the maximum", z.number().max(2), 3, "must be at most 2"],
  ["a zero instead of a positive number", z.number().positive(), 0, "must be more than 0"],
  ["an empty text", z.string().min(1), "", "must not be empty"],
  ["a text above the maximum length", z.string().max(2), "abc", "must have at most 2 characters"],
  ["an empty list", z.array(z.string()).min(1), [], "must have at least 1 entry"],
  ["a number that is not a multiple", z.number().multipleOf(5), 3, "must be a multiple of 5"],
  ["an unknown field", z.strictObject({}), { colour: 1 }, 'unknown field "colour"'],
  ["unknown fields", z.strictObject({}), { colour: 1, size: 2 }, 'unknown fields "colour", "size"'],
  ["a text that does not match a pattern", z.string().regex(/^[a-z]+$/), "9", "must match the pattern /^[a-z]+$/"],
  ["a text without the required prefix", z.string().startsWith("/"), "x", 'must begin with "/"'],
  ["an invalid IPv4 address", z.ipv4(), "x", "must be an IPv4 address"],
  ["an invalid time", z.iso.datetime(), "x", "must be a time such as 2026-11-26T14:00:00Z"],
  [
    "an invalid key of a mapping",
    z.record(z.string().regex(/^a/), z.number()),
    { b: 1 },
    "has an invalid name: must match the pattern /^a/",
  ],
  ["a mapping instead of a number or a text", percent, {}, "must be a number, or a text"],
  ["a missing number or text", percent, undefined, "is missing; it must be a number, or a text"],
  ["an unknown kind in a union", step, { kind: "Pod" }, 'must be one of "Job", "Pods"'],
  ["a failed check without a message", z.string().refine(() => false), "x", "is invalid"],
  [
    "a failed check with the message of the schema",
    z.string().startsWith("/", "must be an absolute path"),
    "x",
    "must be an absolute path",
  ],
];

for (const [what, schema, value, words] of cases) {
  Deno.test(`fault P10: inWords: describes in plain words ${what}`, () => {
    assert.equal(schema.safeParse(value, { error: inWords }).error?.issues[0]?.message, words);
  });
}

Deno.test("fault P10: parseProfile: reports invalid fields in plain words, with the path of the first", () => {
  const spec = { osName: "ubuntu", osVersion: "24.04", version: "v1.0.0", supportedCloudProviders: [] };
  refuses(() => parseProfile(spec), "ProfileInvalid", "bootstrapConfig: is missing; it must be a mapping");
  refuses(() => parseProfile(undefined), "ProfileInvalid", "Invalid profile: spec: is missing; it must be a mapping");
  refuses(() => parseProfile({ ...spec, bootstrapConfig: [] }), "ProfileInvalid", "bootstrapConfig: must be a mapping");
  try {
    parseProfile(spec);
  } catch (error) {
    assert.ok(error instanceof ProfileRefused);
    assert.deepEqual(error.at, ["bootstrapConfig"]);
  }
});

Deno.test("fault P10: every source file that shows the messages of a schema uses inWords for them", async () => {
  const root = new URL("../../../", import.meta.url);
  const faults: string[] = [];
  let shown = 0;
  for await (const file of filesIn(root, ["activities", "cli", "profiles", "workers"])) {
    const text = await Deno.readTextFile(new URL(file, root));
    const isShown = /issues[^\n]*message|message[^\n]*issues|faultsOf\(/.test(text) && text.includes("afeParse(");
    if (isShown) shown += 1;
    if (isShown && !text.includes("error: inWords")) faults.push(file);
  }
  assert.ok(shown > 2, `Found only ${shown} files`);
  assert.deepEqual(faults, []);
});

async function* filesIn(root: URL, folders: string[]): AsyncGenerator<string> {
  for (const folder of folders) {
    for await (const { name, isDirectory } of Deno.readDir(new URL(folder, root))) {
      const path = `${folder}/${name}`;
      if (isDirectory) yield* filesIn(root, [path]);
      else if (name.endsWith(".ts")) yield path;
    }
  }
}
