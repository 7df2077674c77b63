import { Eta, EtaParseError } from "eta/core";
import { strictData } from "./strict_data.ts";
import type { TemplateRequest } from "./template_engine.ts";

/** An error that already says where it happened. */
class PlacedError extends Error {}

/** Renders in this process; throws an error that names file or snippet, line and expression. */
export function renderStrictly({ name, template, snippets, data }: Omit<TemplateRequest, "scope">): string {
  const eta = strictEta();
  for (const [snippet, text] of Object.entries(snippets)) {
    compile(`snippet "${snippet}"`, () => eta.loadTemplate(`@${snippet}`, text));
  }
  const render = compile("template", () => eta.compile(template));
  const strict = (value: unknown): unknown => strictData(value, "it");
  // Eta hands what stands here to every snippet it includes, whose data it has copied.
  const options = { filepath: name, strict } as { filepath: string };
  return eta.render(render, data as object, options);
}

function strictEta(): Eta {
  const eta = new Eta({
    ...{ autoEscape: false, autoFilter: true, autoTrim: false, debug: true },
    filterFunction: printable,
    functionHeader: "it = options.strict(it);",
  });
  eta.RuntimeErr = (error, _source, line): never => {
    if (error instanceof PlacedError) throw error;
    throw new PlacedError(`line ${line}: ${error.message}`);
  };
  return eta;
}

function printable(value: unknown): string {
  if (["string", "number", "boolean", "bigint"].includes(typeof value) && !Number.isNaN(value)) return String(value);
  const what = value === undefined || value === null ? String(value) : Array.isArray(value) ? "a list" : typeof value;
  throw new Error(`cannot print ${what}`);
}

function compile<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof EtaParseError)) throw error;
    const [title = "", ...rest] = error.message.split("\n");
    const detail = title === "Bad template syntax" ? rest.find((line) => line !== "") : title;
    throw new PlacedError(`${what} does not parse: ${detail ?? title}`);
  }
}
