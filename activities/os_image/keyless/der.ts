/** Reads the outermost level of ASN.1 in DER: a sequence of elements. */

export interface Element {
  tag: number;
  /** The element with its tag and length, because signatures cover these. */
  whole: Uint8Array;
  content: Uint8Array;
}

/** Returns all elements; undefined if the bytes contain anything else. */
export function elementsIn(der: Uint8Array): Element[] | undefined {
  const found: Element[] = [];
  for (let start = 0; start < der.length;) {
    const element = elementAt(der.subarray(start));
    if (element === undefined) return undefined;
    found.push(element);
    start += element.whole.length;
  }
  return found;
}

function elementAt(der: Uint8Array): Element | undefined {
  const [tag, first] = der;
  if (tag === undefined || first === undefined) return undefined;
  // From 128 on, the byte is 128 plus the number of length bytes; more than three are not needed.
  const more = first < 0x80 ? 0 : first - 0x80;
  if (first === 0x80 || more > 3) return undefined;
  const length = more === 0 ? first : der.subarray(2, 2 + more).reduce((sum, byte) => sum * 256 + byte, 0);
  const [from, until] = [2 + more, 2 + more + length];
  return until > der.length ? undefined : { tag, whole: der.subarray(0, until), content: der.subarray(from, until) };
}
