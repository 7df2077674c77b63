import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { parseCloudConfig } from "../../../../deploy/local/cloud/boot/cloud_config.ts";
import { base64 } from "./boot_fixtures.ts";

const header = "#cloud-config\n";

Deno.test("parseCloudConfig: decodes plain, base64 and gzipped files", () => {
  const packed = gzipSync("text").toString("base64");
  const config = parseCloudConfig(
    `${header}write_files:
- {path: /a, content: text}
- {path: /b, content: ${base64("text")}, encoding: b64}
- {path: /c, content: ${packed}, encoding: gz+b64}
`,
    "user-data",
  );
  assert.deepEqual([...config.files.values()].map(({ content }) => content), ["text", "text", "text"]);
});

Deno.test("parseCloudConfig: reads modes as octal digits, quoted or not, with default 0644", () => {
  const config = parseCloudConfig(
    `${header}write_files:
- {path: /a, content: x, permissions: '0600'}
- {path: /b, content: x, permissions: 0755}
- {path: /c, content: x}
`,
    "user-data",
  );
  assert.deepEqual([...config.files.values()].map(({ mode }) => mode), [0o600, 0o755, 0o644]);
});

Deno.test("parseCloudConfig: keeps the last of two files with the same path, unless the last one appends", () => {
  const config = parseCloudConfig(
    `${header}write_files:
- {path: /a, content: one}
- {path: /a, content: two}
- {path: /a, content: three, append: true}
`,
    "user-data",
  );
  assert.equal(config.files.get("/a")?.content, "twothree");
});

Deno.test("parseCloudConfig: joins the words of a runcmd list into one command", () => {
  const config = parseCloudConfig(`${header}runcmd:\n- [systemctl, start, a.service]\n- echo hi\n`, "user-data");
  assert.deepEqual(config.commands, ["systemctl start a.service", "echo hi"]);
});

const refused: Record<string, [text: string, reason: RegExp]> = {
  "another format": ["#!/bin/sh\necho\n", /"user-data": its first line is not "#cloud-config"/],
  "broken YAML": [`${header}a: [secret-bytes\n`, /"user-data": it is not valid YAML/],
  "a list": [`${header}- a\n`, /it is not a map/],
  "a file without path": [`${header}write_files: [{content: x}]\n`, /write_files entry 0 has no absolute path/],
  "an unknown encoding": [`${header}write_files: [{path: /a, content: x, encoding: rot13}]\n`, /encoding "rot13"/],
  "bad base64": [
    `${header}write_files: [{path: /a, content: "§", encoding: b64}]\n`,
    /"\/a": its content is not base64/,
  ],
  "bad gzip": [
    `${header}write_files: [{path: /a, content: aaaa, encoding: gz+b64}]\n`,
    /"\/a": its content is not gzip/,
  ],
  "bad permissions": [`${header}write_files: [{path: /a, content: x, permissions: rw}]\n`, /permissions "rw"/],
};

for (const [what, [text, reason]] of Object.entries(refused)) {
  Deno.test(`parseCloudConfig: refuses ${what}`, () => {
    assert.throws(() => parseCloudConfig(text, "user-data"), reason);
  });
}

Deno.test("parseCloudConfig: never quotes content that it cannot parse", () => {
  assert.throws(
    () => parseCloudConfig(`${header}token: [top-secret\n`, "user-data"),
    (error: Error) => !error.message.includes("top-secret") && error.cause === undefined,
  );
});
