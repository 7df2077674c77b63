import { asObject, goField } from "../go_json.ts";
import { ProfileRefused, ReferenceMissing } from "../refusal.ts";

/**
 * The fields of a provider spec that its cloud-config needs. Each field is mapped to the environment variable that
 * gives the value if the spec does not set the field, or to "" if no variable does.
 */
export type NeededFields = Record<string, string>;

/**
 * Returns the key of `secrets.references` that marks an environment variable as set, but forbidden because setting
 * provider-environment is off. The references then lack the value of the variable.
 */
export function withheld(variable: string): string {
  return `withheld:${variable}`;
}

/** A field: its value, or a reference to it (`secret:namespace/name/key`, `configmap:namespace/name/key`). */
interface Written {
  literal?: unknown;
  reference?: string;
}

/** Reads a provider spec like machine-controller: a field has a value, or references a Secret or ConfigMap. */
export class ProviderValues {
  readonly #spec: Record<string, unknown>;
  readonly #needed: NeededFields;
  readonly #found: Record<string, string>;

  /** Throws ProfileRefused (CloudConfigInvalid) if the spec is not an object. */
  constructor(spec: unknown, needed: NeededFields, found: Record<string, string>) {
    const object = asObject(spec);
    if (object === undefined) throw refused("cloudProviderSpec must be an object");
    this.#spec = object;
    this.#needed = needed;
    this.#found = found;
  }

  /** Returns all references and fallback variables of the needed fields. */
  references(): string[] {
    const all = Object.entries(this.#needed).flatMap(([field, variable]) => {
      const { reference } = this.#written(field);
      return [...(reference ? [reference] : []), ...(variable ? [`env:${variable}`] : [])];
    });
    return [...new Set(all)];
  }

  /** Returns the text of a field; if it is empty, the value of its environment variable. */
  text(field: string): string {
    const variable = this.#needed[field];
    if (!variable) return this.#textOf(field);
    return this.#textOf(field, "") || this.variable(variable);
  }

  /** Returns the boolean of a field; false if it is not set. */
  flag(field: string): boolean {
    const { literal, reference } = this.#written(field);
    const variable = this.#needed[field];
    if (reference === undefined && typeof literal === "boolean") return literal;
    if (reference === undefined && literal !== undefined) throw refused(`${field} must be true or false`);
    if (!variable) {
      return reference === undefined ? false : flagOf(this.#textOf(field), `the value referenced by ${field}`);
    }
    return flags.get(this.#textOf(field, "")) ??
      flagOf(this.variable(variable) || "false", `environment variable ${variable}`);
  }

  /** Returns the field unchanged; undefined if it is not set. */
  raw(field: string): unknown {
    return field.split(".").reduce((value: unknown, key) => goField(asObject(value) ?? {}, key), this.#spec);
  }

  /** Returns the literal text of a field, ignoring its reference; empty if the field has no literal text. */
  literal(field: string): string {
    const { literal } = this.#written(field);
    return literal === undefined ? "" : String(literal);
  }

  /**
   * Returns the value of an environment variable; empty if not set. Throws ProfileRefused if the variable must not be
   * used.
   */
  variable(name: string): string {
    if (withheld(name) in this.#found) {
      throw refused(
        `the field that defaults to environment variable ${name} is not set, and the worker reads that variable only ` +
          "with setting provider-environment; set the field, or have it reference a Secret",
      );
    }
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
  throw refused(`${field} must be a value, or an object with value, secretKeyRef or configMapKeyRef`);
}

/** Returns the reference of a selector; undefined unless namespace, name and key are all set. */
function referenceOf(kind: string, selector: unknown): string | undefined {
  const parts = ["namespace", "name", "key"].map((part) => goField(asObject(selector) ?? {}, part));
  return parts.every((part) => typeof part === "string" && part !== "") ? `${kind}:${parts.join("/")}` : undefined;
}

/** The values that Go's strconv.ParseBool accepts. */
const flags = new Map([
  ...["1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false] as const),
]);

function flagOf(text: string, subject: string): boolean {
  const flag = flags.get(text);
  if (flag === undefined) throw refused(`${subject} must be true or false`);
  return flag;
}

/** Returns an error that is not a refusal, because the Secret or ConfigMap may be created later. */
function missing(field: string, reference: string): Error {
  return new ReferenceMissing(
    `Failed to write the cloud-config: "${reference}", referenced by ${field}, does not exist`,
  );
}

/** Returns a refusal of the provider spec (CloudConfigInvalid). */
export function refused(why: string): ProfileRefused {
  return new ProfileRefused("CloudConfigInvalid", `Failed to write the cloud-config: ${why}`);
}
