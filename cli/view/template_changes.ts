/** The changes of a machine template, field by field, without credentials. */
import { canonicalJson } from "../../profiles/canonical_json.ts";

/** A field that differs, with credentials hidden. */
export interface TemplateChange {
  path: string;
  /** Missing where the field is new. */
  before?: string;
  /** Missing where the field is removed. */
  after?: string;
}

/** Shown instead of a credential. */
const hiddenText = "<hidden>";

const longest = 160;

/** Returns the fields that differ, by path; credentials are hidden on both sides. Pure. */
export function templateChanges(before: unknown, after: unknown): TemplateChange[] {
  const [left, right] = [leavesOf(before), leavesOf(after)];
  const paths = [...new Set([...left.keys(), ...right.keys()])].sort();
  return paths.flatMap((path) => {
    const [one, other] = [left.get(path), right.get(path)];
    if (one === other) return [];
    return {
      path,
      ...(one === undefined ? {} : { before: shown(path, one) }),
      ...(other === undefined ? {} : { after: shown(path, other) }),
    };
  });
}

/** Returns the changes as a unified diff between two named sides; "" without changes. */
export function changesPatch(changes: readonly TemplateChange[], before: string, after: string): string {
  if (changes.length === 0) return "";
  const lines = changes.flatMap(({ path, before, after }) => [
    ...(before === undefined ? [] : [`-${path}: ${before}`]),
    ...(after === undefined ? [] : [`+${path}: ${after}`]),
  ]);
  return `--- ${before}\n+++ ${after}\n${lines.join("\n")}\n`;
}

// machine-controller sets these fields in the templates of its MachineSets, so they are not part of a change.
const ownPaths = /^metadata\.(creationTimestamp|labels\.machine-template-hash)$/;

function leavesOf(template: unknown): Map<string, string> {
  const leaves = new Map<string, string>();
  collect(template, "", leaves);
  return leaves;
}

function collect(value: unknown, path: string, leaves: Map<string, string>): void {
  if (value === undefined || value === null || ownPaths.test(path)) return;
  if (typeof value !== "object") return void leaves.set(path, typeof value === "string" ? value : canonicalJson(value));
  for (const [key, inner] of Object.entries(value)) {
    const step = Array.isArray(value) ? `[${key}]` : /^[\w-]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
    collect(inner, `${path}${step}`.replace(/^\./, ""), leaves);
  }
}

function shown(path: string, value: string): string {
  if (isSecret(path, value)) return hiddenText;
  const plain = value === "" || /[\n\t"]|^\s|\s$/.test(value) ? JSON.stringify(value) : value;
  return plain.length > longest ? `${plain.slice(0, longest)}… (${value.length} characters)` : plain;
}

// A reference names a Secret or ConfigMap, and does not contain its values.
const reference = /\.(secretKeyRef|configMapKeyRef)\.(name|namespace|key)$/;
const publicKey = /public-?keys?(\[\d+\])?$/i;
// Only in these fields a name such as "key" stands for a credential; the key of a taint, for example, is elsewhere.
const guarded = /^spec\.providerSpec\.|^metadata\.annotations/;
const secretWord =
  /pass(word|wd|phrase)|secret|token|credential|private|auth|kubeconfig|cert|user-?name|service-?account|user-?data|cloud-?config|(^|[^a-z])keys?($|[^a-z])|(access|api|account|ssh|encryption|secret)-?key/i;
// A password in a URL can contain "/" and "@"; the @ of an image's digest follows no login. Without the bounds, a long
// word would be scanned from each "eyJ" and "://" in it.
const secretValue =
  /-----BEGIN|eyJ(?:[\w-]{16}|[\w-]+\.)|\b[a-z0-9]{6}\.[a-z0-9]{16}\b|:\/\/(?:[^/\s:@]*:\S{0,1024}|[^/\s:@]+)@(?!sha\d+:)/;

/** Returns whether a field may hold a credential; hides too much rather than too little, because providers differ. */
function isSecret(path: string, value: string): boolean {
  if (secretValue.test(value)) return true;
  return guarded.test(path) && !reference.test(path) && !publicKey.test(path) && secretWord.test(path);
}
