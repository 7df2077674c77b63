/** The fields of a zod schema and of an OpenAPI schema, in one comparable form. */
import type { z } from "zod";

/** Maps each field, such as "waves[].upTo", to the word "required" if it is required, and to its enum values if any. */
export type Fields = Record<string, string>;

/** The parts of a zod definition that are read. */
interface Def {
  type: string;
  innerType?: z.core.$ZodType;
  element?: z.core.$ZodType;
  shape?: Record<string, z.core.$ZodType>;
  entries?: Record<string, string>;
}

export interface OpenApi {
  properties?: Record<string, OpenApi>;
  items?: OpenApi;
  required?: string[];
  enum?: string[];
}

export function fieldsOfZod(schema: z.core.$ZodType, path = ""): Fields {
  const { innerType, element, shape } = defOf(schema);
  if (innerType) return fieldsOfZod(innerType, path);
  if (element) return fieldsOfZod(element, `${path}[]`);
  return joined(
    Object.entries(shape ?? {}).map(([name, field]) => {
      const isOptional = defOf(field).type === "optional";
      const at = placeOf(path, name);
      const values = Object.values(defOf(unwrapped(field)).entries ?? {});
      return { [at]: textOf(!isOptional, values), ...fieldsOfZod(field, at) };
    }),
  );
}

export function fieldsOfOpenApi({ properties = {}, items, required = [] }: OpenApi, path = ""): Fields {
  if (items) return fieldsOfOpenApi(items, `${path}[]`);
  return joined(
    Object.entries(properties).map(([name, field]) => {
      const at = placeOf(path, name);
      return { [at]: textOf(required.includes(name), field.enum ?? []), ...fieldsOfOpenApi(field, at) };
    }),
  );
}

function defOf(schema: z.core.$ZodType): Def {
  return schema._zod.def as unknown as Def;
}

function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  const { innerType } = defOf(schema);
  return innerType ? unwrapped(innerType) : schema;
}

function placeOf(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

function textOf(isRequired: boolean, values: string[]): string {
  return [isRequired ? "required" : "optional", ...values].join(" ");
}

function joined(all: Fields[]): Fields {
  return Object.assign({}, ...all) as Fields;
}
