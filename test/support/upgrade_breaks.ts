/** Finds what an update from one set of manifests to another would break for users of the first set. */
import { isDeepStrictEqual } from "node:util";
import type { ManifestObject } from "../../deploy/local/stack/resource_paths.ts";

/** An OpenAPI schema, reduced to the fields that this check compares. */
interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  required?: string[];
  enum?: unknown[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

/** Limits of a schema; a lower limit may only fall, and an upper one only rise. */
const lower = ["minimum", "minLength", "minItems"] as const;
const upper = ["maximum", "maxLength", "maxItems"] as const;

interface Version {
  name: string;
  served: boolean;
  storage: boolean;
  schema: { openAPIV3Schema: Schema };
}

interface Definition {
  group: string;
  scope: string;
  names: { kind: string; plural: string };
  versions: Version[];
}

/** Fields that an API server makes immutable in an existing object. */
const immutable: Readonly<Record<string, string[][]>> = {
  Deployment: [["spec", "selector"]],
  Job: [["spec", "template"], ["spec", "selector"]],
  RoleBinding: [["roleRef"]],
  ClusterRoleBinding: [["roleRef"]],
};

/**
 * Returns each break as one line. An object that `after` lacks is a break unless `notes` contain its name.
 * Depending on how the manifests are applied, such an object remains in the cluster or is deleted together with the
 * objects that it owns, so the upgrade notes must name it.
 */
export function upgradeBreaks(
  before: readonly ManifestObject[],
  after: readonly ManifestObject[],
  notes: string,
): string[] {
  const now = new Map(after.map((object) => [nameOf(object), object]));
  return before.flatMap((object) => {
    const next = now.get(nameOf(object));
    if (next !== undefined) return [...fixedIn(object, next), ...schemaBreaks(object, next)];
    // A removed Job is not a break: a Job runs only once, and the Job of a later release has another name if it does
    // something else.
    const isTold = object.kind === "Job" || notes.includes(object.metadata.name);
    return isTold ? [] : [`${nameOf(object)} is gone, and CHANGELOG.md does not say so`];
  });
}

function nameOf({ kind, metadata: { namespace, name } }: ManifestObject): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}

function fixedIn(before: ManifestObject, after: ManifestObject): string[] {
  const paths = immutable[before.kind] ?? [];
  const changed = paths.filter((path) => !isDeepStrictEqual(at(before, path), at(after, path)));
  return changed.map((path) => `${nameOf(before)} changes ${path.join(".")}, which cannot be changed`);
}

function at(value: unknown, path: readonly string[]): unknown {
  return path.reduce((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value);
}

function schemaBreaks(before: ManifestObject, after: ManifestObject): string[] {
  if (before.kind !== "CustomResourceDefinition") return [];
  const [old, next] = [at(before, ["spec"]) as Definition, at(after, ["spec"]) as Definition];
  const about = nameOf(before);
  const moved = (["group", "scope", "names.kind", "names.plural"] as const).filter((path) =>
    !isDeepStrictEqual(at(old, path.split(".")), at(next, path.split(".")))
  ).map((path) => `${about} changes ${path}, which cannot be changed`);
  const versions = old.versions.flatMap((version) => {
    const found = next.versions.find(({ name }) => name === version.name);
    if (!found || (version.served && !found.served)) return [`${about} no longer serves ${version.name}`];
    const [was, is] = [version, found].map(({ schema }) => schema.openAPIV3Schema);
    return fieldBreaks(`${about} ${version.name}`, was ?? {}, is ?? {});
  });
  return [...moved, ...versions];
}

/** Returns why objects that the previous schema accepts would lose a field, or would be refused. */
function fieldBreaks(about: string, before: Schema, after: Schema): string[] {
  const breaks: string[] = [];
  if (before.type !== undefined && before.type !== after.type) breaks.push(`${about} is no longer ${before.type}`);
  const asked = (after.required ?? []).filter((name) => !(before.required ?? []).includes(name));
  breaks.push(...asked.map((name) => `${about}.${name} is required now`));
  const refused = after.enum === undefined ? [] : (before.enum ?? []).filter((value) => !after.enum?.includes(value));
  breaks.push(...refused.map((value) => `${about} may no longer be "${value}"`));
  if (after.enum !== undefined && before.enum === undefined) breaks.push(`${about} accepts only enum values now`);
  if (after.pattern !== undefined && after.pattern !== before.pattern) breaks.push(`${about} has another pattern`);
  const tightened = [
    ...lower.filter((limit) => (after[limit] ?? -Infinity) > (before[limit] ?? -Infinity)),
    ...upper.filter((limit) => (after[limit] ?? Infinity) < (before[limit] ?? Infinity)),
  ];
  breaks.push(...tightened.map((limit) => `${about} has the tighter limit ${limit} ${after[limit]}`));
  for (const [name, inner] of Object.entries(before.properties ?? {})) {
    const next = after.properties?.[name];
    breaks.push(...next ? fieldBreaks(`${about}.${name}`, inner, next) : [`${about}.${name} is gone`]);
  }
  if (before.items) breaks.push(...fieldBreaks(`${about}[]`, before.items, after.items ?? {}));
  return [...breaks, ...valueBreaks(about, before.additionalProperties, after.additionalProperties)];
}

function valueBreaks(
  about: string,
  before: Schema | boolean | undefined,
  after: Schema | boolean | undefined,
): string[] {
  if (typeof before !== "object") return [];
  return fieldBreaks(`${about}.*`, before, typeof after === "object" ? after : {});
}
