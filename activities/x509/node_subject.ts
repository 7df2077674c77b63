/**
 * For which node a certificate request (PKCS #10) asks, read more strictly than by whoever signs it: one organization,
 * one name, nothing beside, so that no two readers can differ about who it makes somebody.
 */
import { Buffer } from "node:buffer";
import { contentOf, type Element, elementsOf } from "./der.ts";

const sequence = 0x30;
const set = 0x31;
const attributes = 0xa0;
/** UTF8String and PrintableString: the kinds of text that everybody reads alike. */
const texts = [0x0c, 0x13];
/** 2.5.4.10 and 2.5.4.3, as DER has them. */
const organization = "55040a";
const commonName = "550403";
const block = /^-----BEGIN CERTIFICATE REQUEST-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END CERTIFICATE REQUEST-----\s*$/;
const nodeName = /^system:node:([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)$/;

/** The name of the node; undefined for what is no plain request of a kubelet that wants to be a node. `pem` is text. */
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

// Names of hosts, addresses and all other wishes are attributes of the request: there must be none at all.
function subjectIn(der: Buffer): Attribute[] | undefined {
  const [info, ...signature] = elementsOf(contentOf(der, sequence) ?? Buffer.of()) ?? [];
  if (info?.tag !== sequence || signature.length !== 2) return undefined;
  const [, subject, , wishes, ...more] = elementsOf(info.content) ?? [];
  const isPlain = !wishes || (wishes.tag === attributes && wishes.content.length === 0);
  if (subject?.tag !== sequence || !isPlain || more.length > 0) return undefined;
  const found = (elementsOf(subject.content) ?? []).map(attributeOf);
  return found.every((each) => each !== undefined) ? found : undefined;
}

// Each stands in a set of its own, as every maker of requests writes it.
function attributeOf({ tag, content }: Element): Attribute | undefined {
  const inside = tag === set ? contentOf(content, sequence) : undefined;
  const [type, value, ...more] = inside ? elementsOf(inside) ?? [] : [];
  if (type?.tag !== 0x06 || !value || !texts.includes(value.tag) || more.length > 0) return undefined;
  return { type: type.content.toString("hex"), text: value.content.toString("latin1") };
}
