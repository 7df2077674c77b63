import { Buffer } from "node:buffer";
import { deepEqual, equal, ok } from "node:assert/strict";
import { accountTokensIn, hasTokens, tokenOf, withToken } from "../../../../activities/config/published_tokens.ts";
import { accountToken } from "../../../support/publishing_kube.ts";

const account = "cloud-init-settings/ostler-pool-fleet";
const ours = accountToken("signature-1_a");
const theirs = accountToken("signature-2", "kube-system:other");
const owners = { accounts: [account], ids: ["abc123"] };
const joining = "abc123.0123456789abcdef";

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

const around: Record<string, (token: string) => string> = {
  "in plain text": (token) => `curl -H "Authorization: Bearer ${token}" ü`,
  "at the end": (token) => `token: ${token}`,
  "in a data URL": (token) => `data:,Bearer%20${token}%0A`,
  "in a base64 file": (token) => `content: |-\n    ${base64(`Bearer ${token}\nü`)}\n`,
  "in a base64 file within another": (token) => base64(`echo ${base64(`Bearer ${token}\n`)} | base64 -d`),
};

for (const [where, text] of Object.entries(around)) {
  Deno.test(`withToken: replaces only Ostler's tokens, ${where}`, () => {
    for (const token of [ours, joining]) {
      deepEqual(withToken(text(token), owners, "the.next"), { text: text("the.next"), exchanged: 1 });
    }
    for (const token of [theirs, "xyz789.0123456789abcdef", "abc123.0123", "eyJx.y.z"]) {
      deepEqual(withToken(text(token), owners, "the.next"), { text: text(token), exchanged: 0 });
    }
  });

  Deno.test(`tokenOf: finds Ostler's token ${where}`, () => {
    equal(tokenOf(text(theirs) + text(ours), account), ours);
    equal(tokenOf(text(theirs), account), undefined);
  });
}

Deno.test("accountTokensIn: finds each token in a word with more parts, and none with an empty part", () => {
  deepEqual(accountTokensIn(`a.b-${ours}.${theirs}.c`), [ours, theirs]);
  deepEqual(accountTokensIn(`eyJ.${ours}..${theirs.replace(".", "..")} eyJ.`), [ours]);
});

// Anyone who may write a MachineDeployment chooses the comments of its SSH keys.
Deno.test("hasTokens: does not stop the process for long in a text that repeats the beginning of a token", () => {
  const text = "eyJ".repeat(40_000);
  const begun = performance.now();
  equal(hasTokens(text), false);
  deepEqual(accountTokensIn(`${text} ${ours}`), [ours]);
  deepEqual(withToken(`${text} ${ours}`, owners, "the.next"), { text: `${text} the.next`, exchanged: 1 });
  ok(performance.now() - begun < 4_000);
});
