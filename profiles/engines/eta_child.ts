/** The process that renders Eta. */
import { answerLines } from "./child_lines.ts";
import { FileFault, renderStrictly } from "./eta_render.ts";
import { freezeRealm } from "./frozen_realm.ts";
import { hideGlobals } from "./hidden_globals.ts";

const { parse, stringify } = JSON;

function answer(line: string): string {
  const { id, files, snippets, data } = parse(line);
  try {
    return stringify({ id, texts: renderStrictly({ files, snippets, data }) });
  } catch (error) {
    const fault = error instanceof Error ? error.message : "it threw what is no error";
    return stringify({ id, fault, ...(error instanceof FileFault ? { file: error.file } : {}) });
  }
}

hideGlobals();
freezeRealm();
answerLines(answer);
