/** docs/how-to/temporal.md agrees with the code. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ServiceError } from "@temporalio/client";
import { NamespaceNotFoundError } from "@temporalio/common";
import { parseAllDocuments } from "yaml";
import { columnsOf } from "../../../workflows/commands/start_options.ts";
import { temporalTrouble } from "../../../workers/temporal_trouble.ts";
import { grpcStatus } from "../../support/grpc_status.ts";

const page = readFileSync(new URL("../../../docs/how-to/temporal.md", import.meta.url), "utf8");

function textOf(path: string): string {
  return readFileSync(new URL(`../../../deploy/${path}`, import.meta.url), "utf8");
}

/** The error messages in the page's table, as patterns in which `…` matches any text. */
const lines = [...page.matchAll(/^\| `(Failed to [^`]*)` \|/gm)].map(([, line = ""]) => {
  const parts = line.replace(/ …$|…$/, "").split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}`);
});

Deno.test("docs/how-to/temporal.md: has exactly one row for every error message about Temporal", () => {
  const place = { address: "temporal.example:7233", namespace: "fleet" };
  const answers = [5, 7, 12, 16, 14].map((code) =>
    grpcStatus(code, code === 5 ? "Namespace fleet is not found." : "no")
  );
  const errors = [new NamespaceNotFoundError("fleet"), ...answers.map((cause) => new ServiceError("x", { cause }))];
  const told = errors.map((error) => (temporalTrouble(place, error) as Error).message);
  for (const message of told) equal(lines.filter((line) => line.test(message)).length, 1, message);
  equal(new Set(told.map((message) => lines.findIndex((line) => line.test(message)))).size, 4);
});

Deno.test("docs/how-to/temporal.md: names every search attribute in the command that creates the search attributes", () => {
  for (const name of columnsOf("north")) ok(page.includes(`${name}=Keyword`), name);
});

Deno.test("docs/how-to/temporal.md: names every TEMPORAL_ variable that the chart sets, and the file path that the chart gives it", () => {
  const templates = textOf("chart/templates/_environment.tpl");
  const set = [...templates.matchAll(/name: (TEMPORAL_\w+)(?:, value: ([^ }]+))?/g)];
  ok(set.length >= 6);
  for (const [, name = "", value = ""] of set) {
    ok(page.includes(`\`${name}\``), name);
    if (value.startsWith("/") && !value.endsWith("tls.key")) ok(page.includes(value), value);
  }
});

Deno.test("docs/how-to/temporal.md: names only values that the values.yaml of the chart has", () => {
  const [values] = parseAllDocuments(textOf("chart/values.yaml"));
  const named = [...page.matchAll(/`((?:setup|networkPolicy|settings)\.[\w.-]+|temporal\.\w+Secret)/g)].map((
    [, path = ""],
  ) => path);
  ok(named.length > 5);
  deepEqual(named.filter((path) => !values?.hasIn(path.split("."))), []);
});
