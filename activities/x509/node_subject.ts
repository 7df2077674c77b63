/**
 * Reads the node name of a certificate request (PKCS #10), more strictly than the signer: one organization, one name
 * and nothing else, so that no two parsers can differ about the granted identity.
 */
import { Buffer } from "node:buffer";

const sequence = 0x30;
const set = 0x31;
const attributes = 0xa0;
/** UTF8String and PrintableString: the string types that all parsers read alike. */
const texts = [0x0c, 0x13];
/** The object identifiers 2.5.4.10 and 2.5.4.3 in DER, as hex digits. */
const organization = "55040a";
const commonName = "550403";
const block = /^-----BEGIN CERTIFICATE REQUEST-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END CERTIFICATE REQUEST-----\s*$/;
const nodeName = /^system:node:([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)$/;

/**
 * Returns the node name; undefined if the request does not have the subject of a node, or asks for anything else too.
 */
export function nodeNameIn(pem: string): string | undefined {
  const subject = subjectIn(Buffer.from(block.exec(pem)?.[1] ?? "", "base64"));
  if (subject?.length !== 2) return undefined;
  const [first = "", second = ""] = subject.map(({ type, text }) => `${type} ${text}`).sort();
  if (second !== `${organization} system:nodes` || !first.startsWith(`${commonName} `)) return undefined;
  return nodeName.exec(first.slice(commonName.length + 1))?.[1];
}

interface Attribute {
  type: string;
  text: string;
}

/**
 * Returns the attributes of the request's subject, such as its common name. Returns undefined if the request is
 * malformed, or if its own field `attributes` (PKCS #10) is not empty, because that asks for host names, addresses or
 * other extensions.
 */
function subjectIn(der: Buffer): Attribute[] | undefined {
  const [info, ...signature] = elementsOf(contentOf(der, sequence) ?? Buffer.of()) ?? [];
  if (info?.tag !== sequence || signature.length !== 2) return undefined;
  const [, subject, , wishes, ...more] = elementsOf(info.content) ?? [];
  const isPlain = !wishes || (wishes.tag === attributes && wishes.content.length === 0);
  if (subject?.tag !== sequence || !isPlain || more.length > 0) return undefined;
  const found = (elementsOf(subject.content) ?? []).map(attributeOf);
  return found.every((each) => each !== undefined) ? found : undefined;
}

// Accepts only an attribute that is alone in its set, as all programs that generate requests write it.
function attributeOf({ tag, content }: Element): Attribute | undefined {
  const inside = tag === set ? contentOf(content, sequence) : undefined;
  const [type, value, ...more] = inside ? elementsOf(inside) ?? [] : [];
  if (type?.tag !== 0x06 || !value || !texts.includes(value.tag) || more.length > 0) return undefined;
  return { type: type.content.toString("hex"), text: value.content.toString("latin1") };
}

// Just enough DER to read a certificate request; anything but plain DER is refused.

/** One DER element: its tag and its content. */
interface Element {
  tag: number;
  content: Buffer;
}

/** Returns all consecutive elements in `bytes`; undefined if anything else is there. */
function elementsOf(bytes: Buffer): Element[] | undefined {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length;) {
    const head = headAt(bytes, at);
    if (!head || head.end > bytes.length) return undefined;
    found.push({ tag: bytes[at] ?? 0, content: bytes.subarray(head.begin, head.end) });
    at = head.end;
  }
  return found;
}

/**
 * Returns the content of the only element in `bytes`; undefined without exactly one, or if it does not have this tag.
 */
function contentOf(bytes: Buffer, tag: number): Buffer | undefined {
  const [only, ...more] = elementsOf(bytes) ?? [];
  return only?.tag === tag && more.length === 0 ? only.content : undefined;
}

// Returns where the content of an element begins and ends; undefined unless its length has the shortest form, as DER
// requires: two parsers might read a longer form differently.
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
