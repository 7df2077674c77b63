import { isFit, type Parameter, type ParameterValue, wantedOf } from "./parameter.ts";
import { ProfileRefused } from "./refusal.ts";
import type { OsProfile } from "./schema.ts";

/** Annotations of a MachineDeployment that set parameters start with it; the parameter's name follows. */
export const parameterPrefix = "parameter.ostler.dev/";

/**
 * The values of a profile's parameters: what the annotations say, else the defaults.
 * Throws ProfileRefused (ParameterInvalid) for an annotation without its parameter, a wrong or a missing value.
 */
export function parameterValues(
  { parameters = {} }: Pick<OsProfile, "parameters">,
  annotations: Record<string, string>,
): Record<string, ParameterValue> {
  const given = Object.keys(annotations).filter((key) => key.startsWith(parameterPrefix));
  const unknown = given.find((key) => !Object.hasOwn(parameters, key.slice(parameterPrefix.length)));
  if (unknown !== undefined) {
    const known = Object.keys(parameters).sort().join(", ") || "none";
    throw invalid(
      unknown,
      annotations[unknown] ?? "",
      `the profile has no such parameter, its parameters are: ${known}`,
    );
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
    const wanted = `${wantedOf(parameter)}, and the profile has no default`;
    throw new ProfileRefused("ParameterInvalid", `Cannot use annotation "${key}": it is missing, wanted is ${wanted}`);
  }
  const value = readText(parameter.type, text);
  if (value === undefined || !isFit(parameter, value)) throw invalid(key, text, `wanted is ${wantedOf(parameter)}`);
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

function invalid(key: string, text: string, why: string): ProfileRefused {
  const shown = JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
  return new ProfileRefused("ParameterInvalid", `Cannot use annotation "${key}": its value is ${shown}, ${why}`);
}
