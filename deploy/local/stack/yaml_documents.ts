import { loadYaml } from "@kubernetes/client-node";

const separator = /^---(?:[ \t].*)?$/m;
const nothingButComments = /^(?:[ \t]*(?:#.*)?\r?\n?)*$/;

/** The documents of a YAML text as plain data, in their order, empty ones left out. */
export function yamlDocuments(text: string): unknown[] {
  return text.split(separator).filter((document) => !nothingButComments.test(document)).map(plainDocument);
}

// The client's loader turns a Kubernetes object into its typed model: keys are respelled, and fields the model does not
// know are lost. One level down it sees no apiVersion and hands out the data as written.
function plainDocument(document: string): unknown {
  const nested = document.replace(/^(?=.)/gm, "  ");
  return loadYaml<{ readonly document: unknown }>(`document:\n${nested}`).document;
}
