import { isFit, type Parameter, type ParameterValue, wantedOf } from "./parameter.ts";
import { ProfileRefused } from "./refusal.ts";
import type { OsProfile } from "./schema.ts";

/** The prefix of annotations of a MachineDeployment that set parameters; the name of the parameter follows. */
export const parameterPrefix = "parameter.ostler.dev/";

/**
 * Returns the values of a profile's parameters, from the annotations or else from the defaults.
 * Throws ProfileRefused (ParameterInvalid) for an annotation of an unknown parameter, an invalid or a missing value.
 */
export function parameterValues(
  { parameters = {} }: Pick<OsProfile, "parameters">,
  annotations: Record<string, string>,
): Record<string, ParameterValue> {
  const given = Object.keys(annotations).filter((key) => key.startsWith(parameterPrefix));
  const unknown = given.find((key) => !Object.hasOwn(parameters, key.slice(parameterPrefix.length)));
  if (unknown !== undefined) {
    const known = Object.keys(parameters).sort().join(", ") || "none";
    const cause = `the profile has no such parameter; its parameters are: ${known}`;
    throw new ProfileRefused("ParameterInvalid", `Invalid annotation "${unknown}": ${cause}`);
  }
  return Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => [name, valueOf(name, parameter, annotations)]),
  );
}

function valueOf(name: string, parameter: Parameter, annotations: Record<string, string>): ParameterValue {
  const key = `${parameterPrefix}${name}`;
  const text = Object.hasOwn(annotations, key) ? annotations[key] : undefined;
  if (text === undefined) {
    if (parameter.default !== undefined) return parameter.default;
    const cause = `its parameter has no default; set the annotation to ${wantedOf(parameter)}`;
    throw new ProfileRefused("ParameterInvalid", `Missing annotation "${key}": ${cause}`);
  }
  const value = readText(parameter.type, text);
  if (value === undefined || !isFit(parameter, value)) throw invalid(key, text, wantedOf(parameter));
  return value;
}

function readText(type: Parameter["type"], text: string): ParameterValue | undefined {
  switch (type) {
    case "string":
      return text;
    case "integer":
      return /^-?\d+$/.test(text.trim()) ? Number(text) : undefined;
    case "boolean":
      return ({ true: true, false: false } as Record<string, boolean>)[text.trim()];
    case "list":
      return text.split(",").map((item) => item.trim()).filter((item) => item !== "");
  }
}

function invalid(key: string, text: string, wanted: string): ProfileRefused {
  const shown = JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
  return new ProfileRefused("ParameterInvalid", `Invalid annotation "${key}": value ${shown} must be ${wanted}`);
}
