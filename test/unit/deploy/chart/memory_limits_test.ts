import { ok } from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { EtaEngine } from "../../../../profiles/engines/eta.ts";
import { GoEngine } from "../../../../profiles/engines/go.ts";
import { sizes } from "../../../support/chart_objects.ts";

/**
 * MiB that a worker needs beside its renderers while it publishes 1,000 pools; a webhook needs less
 * (docs/explanation/scale.md).
 */
const besideMiB = 392;
const renderersMiB = new EtaEngine().largestMiB + new GoEngine().largestMiB;

type Values = Partial<Record<string, { resources?: { limits: { memory: string } } }>>;

for (const file of ["values.yaml", ...sizes]) {
  Deno.test(`${file}: has memory limits that cover the worst case of rendering`, async () => {
    const values: Values = parse(await readFile(new URL(`../../../../deploy/chart/${file}`, import.meta.url), "utf8"));
    const given = ["worker", "webhook"].map((process) => values[process]?.resources?.limits.memory);
    const limits = given.filter((text) => text !== undefined).map((text) => Number(/^(\d+)Mi$/.exec(text)?.[1]));
    ok(limits.length > 0 && limits.every((limit) => limit >= besideMiB + renderersMiB), `${limits}: ${renderersMiB}`);
  });
}
