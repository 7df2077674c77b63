/** Responses of AWS's older APIs in their wire format. */
import type { Api } from "./aws_requests.ts";

const listed: Record<Api, string> = { autoscaling: "member", ec2: "item" };

/** Returns the response to an action. */
export function answerXml(api: Api, action: string, value: object): string {
  const body = elements(value, listed[api]);
  if (api === "ec2") return `<${action}Response><requestId>r</requestId>${body}</${action}Response>`;
  const result = `<${action}Result>${body}</${action}Result>`;
  return `<${action}Response>${result}<ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></${action}Response>`;
}

/** Returns a failure, in the format of each API. */
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
