import { z } from "zod";

/** How people write a setting; `text` is whatever they write, everywhere else than as follows. */
export type Form =
  | "text"
  /** A flag alone means true. */
  | "truth"
  /** May be given several times; in one text the values stand apart by white space. */
  | "repeated"
  /** The path of a file, whose content counts. */
  | "file"
  /** One JSON object; in a file of settings simply a mapping. */
  | "json";

/** What is told about a setting; its name is that of its field. */
export interface SettingNote {
  description: string;
  form?: Form;
  /** Name of the environment variable, where it is not made from the flag. */
  env?: string;
  /** Flags that mean the same. */
  also?: string[];
  /** It is read and has no effect; the description says why. */
  isIgnored?: boolean;
}

/** Reads text; its default is text too, so that `--help` shows it as people would write it. */
export type Setting<T> = z.ZodPrefault<z.ZodType<T, string>>;

/** Settings by field. */
export type SettingShape = Record<string, Setting<unknown>>;

const notes = z.registry<SettingNote>();

/** Declares a setting. The messages of `read` say what is wanted, such as "must be a port". */
export function setting<T>(read: z.ZodType<T, string>, standard: string, note: SettingNote): Setting<T> {
  return read.prefault(standard).register(notes, note);
}

/** What was declared, and the text that stands when nobody sets anything. */
export function noteOf(field: Setting<unknown>): Required<Pick<SettingNote, "form">> & SettingNote & {
  standard: string;
} {
  const note = notes.get(field);
  if (note === undefined) throw new Error("Cannot tell about a setting: it was not made by setting()");
  return { form: "text", ...note, standard: field.def.defaultValue };
}

/** `clusterDns` is `cluster-dns` as a flag. */
export function flagOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `clusterDns` is `OSTLER_CLUSTER_DNS` in the environment. */
export function variableOf(name: string, { env }: Pick<SettingNote, "env">): string {
  return env ?? `OSTLER_${flagOf(name).toUpperCase().replaceAll("-", "_")}`;
}
