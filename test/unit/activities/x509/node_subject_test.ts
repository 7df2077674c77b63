import { equal } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { nodeNameIn } from "../../../../activities/x509/node_subject.ts";
import { requestNodeCertificate } from "../../../../deploy/local/cloud/boot/certificate.ts";

type Value = [tag: number, text: string];

const organization = "55040a";
const commonName = "550403";

function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function attribute(type: string, [tag, text]: Value): Buffer {
  return der(0x30, der(0x06, Buffer.from(type, "hex")), der(tag, Buffer.from(text)));
}

function subject(...attributes: [string, Value][]): Buffer {
  return der(0x30, ...attributes.map(([type, value]) => der(0x31, attribute(type, value))));
}

/** Returns a request as in a CertificateSigningRequest, with a key and a signature that are not checked here. */
function pemOf(subject: Buffer, wishes: Buffer[] = [der(0xa0)]): string {
  const info = der(0x30, der(0x02, Buffer.of(0)), subject, der(0x30), ...wishes);
  return pem(der(0x30, info, der(0x30), der(0x03, Buffer.of(0))));
}

function pem(request: Buffer): string {
  const lines = request.toString("base64").replaceAll(/.{64}/g, "$&\n");
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines}\n-----END CERTIFICATE REQUEST-----\n`;
}

const nodes: [string, Value] = [organization, [0x13, "system:nodes"]];
const named = (name: string, tag = 0x13): [string, Value] => [commonName, [tag, name]];
const worker = named("system:node:w-1");
const plain = pemOf(subject(nodes, worker));

Deno.test("nodeNameIn: reads the node of a request that a simulated kubelet made", async () => {
  equal(nodeNameIn((await requestNodeCertificate("pool-5d8f.example")).request), "pool-5d8f.example");
});

// Made by: openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj
// "/O=system:nodes/CN=system:node:w1"
Deno.test("nodeNameIn: reads the node of a request that openssl made", () => {
  const made = `-----BEGIN CERTIFICATE REQUEST-----
MIHsMIGSAgEAMDAxFTATBgNVBAoMDHN5c3RlbTpub2RlczEXMBUGA1UEAwwOc3lz
dGVtOm5vZGU6dzEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASa3VItayh9De4P
CCfzDgWPdGeQ0xcfOxbtW+zB2tInZ9lyWLoZFB6bAiGu0ZQfR/DvXYcIz/5dTLYg
rlJs9rPloAAwCgYIKoZIzj0EAwIDSQAwRgIhALzsYFTJDPpCI2fvT4dDYL6qcusS
gKRbBLRdmw53iaVbAiEA+ZN9uPLBr1YXma4tWP+wMFC//8FNx5J+7hU6Ua8KvIo=
-----END CERTIFICATE REQUEST-----
`;
  equal(nodeNameIn(made), "w1");
});

Deno.test("nodeNameIn: accepts PrintableString and UTF8String, name and organization in either order, and missing or empty attributes", () => {
  for (const one of [plain, pemOf(subject(named("system:node:w-1", 0x0c), nodes)), pemOf(subject(nodes, worker), [])]) {
    equal(nodeNameIn(one), "w-1");
  }
});

const others: Record<string, string> = {
  "attributes, which could ask for host names": pemOf(subject(nodes, worker), [der(0xa0, der(0x30))]),
  "more after its attributes": pemOf(subject(nodes, worker), [der(0xa0), der(0xa1)]),
  "a second organization": pemOf(subject(nodes, [organization, [0x13, "system:masters"]], worker)),
  "another organization": pemOf(subject([organization, [0x13, "system:masters"]], worker)),
  "no organization": pemOf(subject(worker)),
  "a second name": pemOf(subject(nodes, worker, named("system:node:w-2"))),
  "a second name in place of the organization": pemOf(subject(named("system:nodes"), worker)),
  "two attributes in one set": pemOf(
    der(0x30, der(0x31, attribute(...nodes), attribute(...worker)), der(0x31, attribute(...worker))),
  ),
  "an organizational unit": pemOf(subject(nodes, worker, ["55040b", [0x13, "x"]])),
  "a name that is not of a node": pemOf(subject(nodes, named("system:kube-scheduler"))),
  "an empty name": pemOf(subject(nodes, named("system:node:"))),
  "a name that no object may have": pemOf(subject(nodes, named("system:node:../w-1"))),
  "a name with a line break": pemOf(subject(nodes, named("system:node:w-1\n"))),
  "a name longer than any valid name": pemOf(subject(nodes, named(`system:node:${"a".repeat(254)}`))),
  "a name as BMPString, which parsers may read differently": pemOf(subject(nodes, named("system:node:w-1", 0x1e))),
  "something after its end": pem(
    Buffer.concat([Buffer.from(plain.replaceAll(/-----[^-]*-----/g, ""), "base64"), Buffer.of(5, 0)]),
  ),
  "a second block": plain + plain,
  "something before the block": `x\n${plain}`,
  "no request in its block": pem(Buffer.from("hello")),
  "no block": "hello",
};

for (const [what, text] of Object.entries(others)) {
  Deno.test(`nodeNameIn: refuses a request with ${what}`, () => equal(nodeNameIn(text), undefined));
}

Deno.test("nodeNameIn: refuses a request with an overlong length, or truncated anywhere", () => {
  const whole = Buffer.from(plain.replaceAll(/-----[^-]*-----/g, ""), "base64");
  const long = Buffer.concat([Buffer.of(0x30, 0x82, 0, whole.length - 2), whole.subarray(2)]);
  equal(nodeNameIn(pem(long)), undefined);
  for (let end = 0; end < whole.length; end++) equal(nodeNameIn(pem(whole.subarray(0, end))), undefined, `${end}`);
});
