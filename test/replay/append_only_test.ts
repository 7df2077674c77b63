import { deepEqual } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rewrittenHistories } from "./append_only.ts";
import type { Kept } from "./append_only.ts";

const ours: Omit<Kept, "root">[] = [
  { folder: "test/replay/histories", since: "test/replay/frozen_with_0.1.0.md" },
  { folder: "test/replay/manifests", since: "test/replay/frozen_with_0.1.0.md" },
];

for (const { folder, since } of ours) {
  const rewritten = rewrittenHistories({ root: fileURLToPath(new URL("../../", import.meta.url)), folder, since });
  Deno.test({
    name: `append-only: files in ${folder} are only ever added`,
    // Skipped in a checkout without git's history, because the earlier content of the histories is unknown.
    ignore: rewritten === undefined,
    fn: () => deepEqual(rewritten, []),
  });
}

/** A separate checkout in which a history was recorded together with the rule. */
class Checkout implements Disposable {
  readonly kept: Kept = { root: mkdtempSync(join(tmpdir(), "histories-")), folder: "histories", since: "rule" };

  constructor() {
    this.git("init", "--quiet");
    mkdirSync(join(this.kept.root, "histories"));
    this.write("histories/rolling.json", "{}");
    this.write("rule", "histories may only be added");
    this.commit();
  }

  git(...args: string[]): void {
    const identity = ["-c", "user.name=ada", "-c", "user.email=ada@localhost", "-c", "commit.gpgsign=false"];
    execFileSync("git", [...identity, ...args], { cwd: this.kept.root, stdio: "ignore" });
  }

  write(path: string, text: string): void {
    writeFileSync(join(this.kept.root, path), text);
  }

  commit(): void {
    this.git("add", "--all");
    this.git("commit", "--quiet", "--message", "test: a step");
  }

  [Symbol.dispose](): void {
    rmSync(this.kept.root, { recursive: true });
  }
}

Deno.test("rewrittenHistories: allows additions", () => {
  using checkout = new Checkout();
  checkout.write("histories/creation.json", "{}");
  deepEqual(rewrittenHistories(checkout.kept), []);
  checkout.commit();
  deepEqual(rewrittenHistories(checkout.kept), []);
});

Deno.test("rewrittenHistories: names a changed history, committed or not", () => {
  using checkout = new Checkout();
  checkout.write("histories/rolling.json", '{"events":[]}');
  deepEqual(rewrittenHistories(checkout.kept), ["histories/rolling.json"]);
  checkout.commit();
  deepEqual(rewrittenHistories(checkout.kept), ["histories/rolling.json"]);
});

Deno.test("rewrittenHistories: names a moved history, even if it was moved back with changes", () => {
  using checkout = new Checkout();
  checkout.git("mv", "histories/rolling.json", "histories/renamed.json");
  checkout.commit();
  deepEqual(rewrittenHistories(checkout.kept), ["histories/rolling.json"]);
  checkout.git("mv", "histories/renamed.json", "histories/rolling.json");
  checkout.commit();
  deepEqual(rewrittenHistories(checkout.kept)?.includes("histories/rolling.json"), true);
});

Deno.test("rewrittenHistories: returns undefined without a checkout", () => {
  const root = mkdtempSync(join(tmpdir(), "histories-"));
  try {
    deepEqual(rewrittenHistories({ root, folder: "histories", since: "rule" }), undefined);
  } finally {
    rmSync(root, { recursive: true });
  }
});
