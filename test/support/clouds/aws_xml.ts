/** Writes and reads the responses of those AWS APIs that still use XML. */
import type { Api } from "./aws_requests.ts";

const listed: Record<Api, string> = { autoscaling: "member", ec2: "item" };

/** Returns the response to an action. */
export function answerXml(api: Api, action: string, value: object): string {
  const body = elements(value, listed[api]);
  if (api === "ec2") return `<${action}Response><requestId>r</requestId>${body}</${action}Response>`;
  const result = `<${action}Result>${body}</${action}Result>`;
  return `<${action}Response>${result}<ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></${action}Response>`;
}

/** Returns an error response in the format of the API. */
export function failureXml(api: Api, code: string, says: string): string {
  const error = elements({ Code: code, Message: says }, "");
  if (api === "ec2") return `<Response><Errors><Error>${error}</Error></Errors><RequestID>r</RequestID></Response>`;
  return `<ErrorResponse><Error><Type>Sender</Type>${error}</Error><RequestId>r</RequestId></ErrorResponse>`;
}

function elements(value: unknown, item: string): string {
  if (Array.isArray(value)) return value.map((each) => `<${item}>${elements(each, item)}</${item}>`).join("");
  if (typeof value !== "object" || value === null) return escaped(String(value));
  const fields = Object.entries(value).filter(([, each]) => each !== undefined);
  return fields.map(([key, each]) => `<${key}>${elements(each, item)}</${key}>`).join("");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/**
 * Returns the output in a response, in the form that `answerXml` takes; an empty list or structure is an empty text.
 */
export function outputIn(api: Api, xml: string): object {
  const response = Object.values(objectOf(elementsIn(xml), listed[api]) as object).find((each) =>
    typeof each === "object"
  );
  const { requestId: _, ResponseMetadata: __, ...fields } = (response ?? {}) as Record<string, unknown>;
  if (api === "ec2") return fields;
  const [result] = Object.values(fields);
  return typeof result === "object" && result !== null ? result : {};
}

interface Element {
  name: string;
  text: string;
  inner: Element[];
}

const tokens = /<(\/?)([A-Za-z]\w*)[^>]*?(\/?)>|([^<]+)/g;

function elementsIn(xml: string): Element {
  const root: Element = { name: "", text: "", inner: [] };
  const open = [root];
  for (const [, end, name = "", isEmpty, text = ""] of xml.matchAll(tokens)) {
    const parent = open.at(-1) ?? root;
    if (end) open.pop();
    else if (name === "") parent.text += text;
    else {
      const element = { name, text: "", inner: [] };
      parent.inner.push(element);
      if (!isEmpty) open.push(element);
    }
  }
  return root;
}

function objectOf({ inner, text }: Element, item: string): string | object {
  if (inner.length === 0) return unescaped(text.trim());
  const values = inner.map((each) => [each.name, objectOf(each, item)] as const);
  return inner.every(({ name }) => name === item) ? values.map(([, value]) => value) : Object.fromEntries(values);
}

function unescaped(text: string): string {
  const signs: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  return text.replaceAll(/&(lt|gt|quot|apos|amp);/g, (_, sign: string) => signs[sign] ?? "");
}
