/** The fields of a command, as people and scripts write them. */

const texts = ["by", "reason", "plan", "machine"];
const flags = ["full"];

/** What is wrong with a command, naming the field; undefined for a good one. */
export function wrongField(command: unknown): string | undefined {
  if (command === undefined || command === null) return undefined;
  const needed = 'one object is needed, such as {"by": "ada", "reason": "incident 12"}';
  if (typeof command !== "object" || Array.isArray(command)) return `it is no object; ${needed}`;
  for (const [field, value] of Object.entries(command)) {
    const isText = texts.includes(field);
    if (!isText && !flags.includes(field)) {
      return `field "${field}" is not known; known are ${[...texts, ...flags].join(", ")}`;
    }
    if (isText && typeof value !== "string") return `field "${field}" is no text`;
    if (!isText && typeof value !== "boolean") return `field "${field}" is neither true nor false`;
  }
  return undefined;
}
