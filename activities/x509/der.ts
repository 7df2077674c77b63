/** Just enough DER to read what a certificate request is for; whatever is not plain DER is no element. */
import type { Buffer } from "node:buffer";

/** One element, with its content. */
export interface Element {
  tag: number;
  content: Buffer;
}

/** All elements that stand in `bytes` one after the other; undefined where anything else does. */
export function elementsOf(bytes: Buffer): Element[] | undefined {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length;) {
    const head = headAt(bytes, at);
    if (!head || head.end > bytes.length) return undefined;
    found.push({ tag: bytes[at] ?? 0, content: bytes.subarray(head.begin, head.end) });
    at = head.end;
  }
  return found;
}

/** The content of the one element that `bytes` are. */
export function contentOf(bytes: Buffer, tag: number): Buffer | undefined {
  const [only, ...more] = elementsOf(bytes) ?? [];
  return only?.tag === tag && more.length === 0 ? only.content : undefined;
}

// A length in more bytes than it takes is no DER: two readers might read it differently.
function headAt(bytes: Buffer, at: number): { begin: number; end: number } | undefined {
  const first = bytes[at + 1];
  if (first === undefined) return undefined;
  if (first < 0x80) return { begin: at + 2, end: at + 2 + first };
  const width = first & 0x7f;
  if (width < 1 || width > 3 || at + 2 + width > bytes.length) return undefined;
  const length = bytes.readUIntBE(at + 2, width);
  if (length < 0x80 || length < 2 ** (8 * (width - 1))) return undefined;
  const begin = at + 2 + width;
  return { begin, end: begin + length };
}
