import { asObject, goField } from "../go_json.ts";
import { ProfileRefused, ReferenceMissing } from "../refusal.ts";

/** Fields of a provider's spec that its cloud-config needs, each with the environment variable that stands in, or "". */
export type NeededFields = Record<string, string>;

/** What a field says: itself, or where to find it (`secret:namespace/name/key`, `configmap:namespace/name/key`). */
interface Written {
  literal?: unknown;
  reference?: string;
}

/** Reads a provider spec as machine-controller does: values may be written out, or point at a Secret or ConfigMap. */
export class ProviderValues {
  readonly #spec: Record<string, unknown>;
  readonly #needed: NeededFields;
  readonly #found: Record<string, string>;

  /** Throws ProfileRefused (CloudConfigInvalid) when the spec is no object. */
  constructor(spec: unknown, needed: NeededFields, found: Record<string, string>) {
    const object = asObject(spec);
    if (object === undefined) throw refused("cloudProviderSpec must be an object");
    this.#spec = object;
    this.#needed = needed;
    this.#found = found;
  }

  /** Everything that the needed fields point at or fall back to. */
  references(): string[] {
    const all = Object.entries(this.#needed).flatMap(([field, variable]) => {
      const { reference } = this.#written(field);
      return [...(reference ? [reference] : []), ...(variable ? [`env:${variable}`] : [])];
    });
    return [...new Set(all)];
  }

  /** A text; with a variable that stands in, that one's where the field gives none. */
  text(field: string): string {
    const variable = this.#needed[field];
    if (!variable) return this.#textOf(field);
    return this.#textOf(field, "") || this.variable(variable);
  }

  /** True or false; false where nothing says so. */
  flag(field: string): boolean {
    const { literal, reference } = this.#written(field);
    const variable = this.#needed[field];
    if (reference === undefined && typeof literal === "boolean") return literal;
    if (reference === undefined && literal !== undefined) throw refused(`${field} must be true or false`);
    if (!variable) return reference === undefined ? false : flagOf(this.#textOf(field), `what ${field} points at`);
    return flags.get(this.#textOf(field, "")) ?? flagOf(this.variable(variable) || "false", `variable ${variable}`);
  }

  /** The field as it is written; undefined where it is not. */
  raw(field: string): unknown {
    return field.split(".").reduce((value: unknown, key) => goField(asObject(value) ?? {}, key), this.#spec);
  }

  /** The literal text of a field, whatever it points at; empty where there is none. */
  literal(field: string): string {
    const { literal } = this.#written(field);
    return literal === undefined ? "" : String(literal);
  }

  /** An environment variable; empty where it is not set. */
  variable(name: string): string {
    return this.#found[`env:${name}`] ?? "";
  }

  #textOf(field: string, orElse?: string): string {
    const { reference } = this.#written(field);
    if (reference === undefined) return this.literal(field);
    const text = this.#found[reference] ?? orElse;
    if (text === undefined) throw missing(field, reference);
    return text;
  }

  #written(field: string): Written {
    const value = this.raw(field);
    const object = asObject(value);
    if (object === undefined) return value === undefined ? {} : { literal: literalOf(field, value) };
    const reference = referenceOf("secret", goField(object, "secretKeyRef")) ??
      referenceOf("configmap", goField(object, "configMapKeyRef"));
    const inner = goField(object, "value");
    return {
      ...(inner === undefined ? {} : { literal: literalOf(field, inner) }),
      ...(reference === undefined ? {} : { reference }),
    };
  }
}

function literalOf(field: string, value: unknown): unknown {
  if (typeof value !== "object") return value;
  throw refused(`${field} must be text, or an object with value, secretKeyRef or configMapKeyRef`);
}

/** All three parts must be there, else it is as if nothing stood there. */
function referenceOf(kind: string, selector: unknown): string | undefined {
  const parts = ["namespace", "name", "key"].map((part) => goField(asObject(selector) ?? {}, part));
  return parts.every((part) => typeof part === "string" && part !== "") ? `${kind}:${parts.join("/")}` : undefined;
}

/** What Go's strconv.ParseBool knows. */
const flags = new Map([
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false] as const),
]);

function flagOf(text: string, subject: string): boolean {
  const flag = flags.get(text);
  if (flag === undefined) throw refused(`${subject} must be true or false`);
  return flag;
}

/** Not a refusal: the Secret or ConfigMap may be on its way. */
function missing(field: string, reference: string): Error {
  return new ReferenceMissing(`Cannot make the cloud-config: "${reference}", to which ${field} points, is not there`);
}

/** The provider spec can never become a cloud-config. */
export function refused(why: string): ProfileRefused {
  return new ProfileRefused("CloudConfigInvalid", `Cannot make the cloud-config: ${why}`);
}
