import { z } from "zod";

/** The form in which a setting is written; `text` is any text. */
export type Form =
  | "text"
  /** A boolean; the flag without a value means true. */
  | "truth"
  /** The flag can be repeated; a single text separates the values by white space. */
  | "repeated"
  /** The path of a file; the value is the content of the file. */
  | "file"
  /** One JSON object; in a settings file a mapping. */
  | "json";

/** The documentation of a setting; its name comes from its field. */
interface SettingNote {
  description: string;
  form?: Form;
  /** Name of the environment variable, if it is not derived from the flag. */
  env?: string;
  /** Alternative names of the flag. */
  also?: string[];
  /** Whether the setting has no effect; the description has the reason. */
  isIgnored?: boolean;
}

/** A schema that reads text; its default is text too, so that `--help` shows it as it would be written. */
export type Setting<T> = z.ZodPrefault<z.ZodType<T, string>>;

/** The settings of a program, by the name of their field. */
export type SettingShape = Record<string, Setting<unknown>>;

const notes = z.registry<SettingNote>();

/** Declares a setting; the messages of `read` say what would be accepted, such as "must be a port". */
export function setting<T>(read: z.ZodType<T, string>, standard: string, note: SettingNote): Setting<T> {
  return read.prefault(standard).register(notes, note);
}

/** Returns the documentation of a setting, and its default as text. */
export function noteOf(field: Setting<unknown>): Required<Pick<SettingNote, "form">> & SettingNote & {
  standard: string;
} {
  const note = notes.get(field);
  if (note === undefined) throw new Error("Failed to describe a setting: it was not declared with setting()");
  return { form: "text", ...note, standard: field.def.defaultValue };
}

/** Returns the flag of a field: `cluster-dns` for `clusterDns`. */
export function flagOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Returns the environment variable of a field: `OSTLER_CLUSTER_DNS` for `clusterDns`, unless `env` names another. */
export function variableOf(name: string, { env }: Pick<SettingNote, "env">): string {
  return env ?? `OSTLER_${flagOf(name).toUpperCase().replaceAll("-", "_")}`;
}
