import { deepEqual, doesNotMatch, equal, match, throws } from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTemporalServer } from "../../../../activities/temporal/temporal_server.ts";

const profiles = `
[profile.default]
address = "file:7233"
namespace = "of-file"
[profile.cloud]
address = "cloud:7233"
api_key = "secret-of-file"
[profile.cloud.tls]
server_name = "temporal.example"
`;

/** Calls `story` with a temporal.toml of this text in the default path of Temporal's tools. */
function withFile<T>(text: string, story: (env: Record<string, string>, path: string) => T): T {
  const home = mkdtempSync(join(tmpdir(), "ostler-temporal-"));
  try {
    const path = join(home, "temporalio", "temporal.toml");
    mkdirSync(join(home, "temporalio"));
    writeFileSync(path, text);
    return story({ XDG_CONFIG_HOME: home }, path);
  } finally {
    rmSync(home, { recursive: true });
  }
}

function fault(env: Record<string, string>): string {
  let message = "";
  throws(() => readTemporalServer(env), (error: Error) => {
    message = error.message;
    return true;
  });
  return message;
}

Deno.test("readTemporalServer: returns the dev server by default, in plain text", () => {
  deepEqual(readTemporalServer({}), { address: "127.0.0.1:7233", namespace: "default", access: {} });
});

Deno.test("readTemporalServer: prefers a flag to its variable, and a variable to temporal.toml", () => {
  withFile(profiles, (env) => {
    const { address, namespace } = readTemporalServer(env);
    deepEqual([address, namespace], ["file:7233", "of-file"]);
    const named = { ...env, TEMPORAL_ADDRESS: "env:7233" };
    deepEqual(readTemporalServer(named).address, "env:7233");
    const flagged = readTemporalServer(named, { temporalAddress: "flag:7233", temporalNamespace: "" });
    deepEqual([flagged.address, flagged.namespace], ["flag:7233", "of-file"]);
  });
});

Deno.test("readTemporalServer: uses the named profile, with TLS and key", () => {
  withFile(profiles, (env) => {
    const { address, access } = readTemporalServer({ ...env, TEMPORAL_PROFILE: "cloud" });
    deepEqual([address, access.apiKey], ["cloud:7233", "secret-of-file"]);
    equal((access.tls as { serverNameOverride: string }).serverNameOverride, "temporal.example");
    equal(fault({ ...env, TEMPORAL_PROFILE: "other" }), noProfile("other"));
  });
});

function noProfile(name: string): string {
  return `Failed to read Temporal's settings: Profile '${name}' not found in config data`;
}

Deno.test("readTemporalServer: reads certificates by path or inline", () => {
  withFile("", (_, path) => {
    writeFileSync(path, "a certificate");
    const { access } = readTemporalServer({
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: path,
      TEMPORAL_TLS_CLIENT_CERT_DATA: "certificate",
      TEMPORAL_TLS_CLIENT_KEY_DATA: "key",
    });
    const { serverRootCACertificate, clientCertPair } = access.tls as Record<string, Uint8Array & { key: Uint8Array }>;
    const text = (bytes?: Uint8Array): string => new TextDecoder().decode(bytes);
    deepEqual([text(serverRootCACertificate), text(clientCertPair?.key)], ["a certificate", "key"]);
  });
});

Deno.test("readTemporalServer: treats an empty variable as unset, and turns TLS on only when the API key has a value", () => {
  deepEqual(readTemporalServer({ TEMPORAL_API_KEY: "", TEMPORAL_TLS: "" }).access, {});
  equal(readTemporalServer({ TEMPORAL_API_KEY: "secret" }).access.tls, true);
  // Without this setting, the key would turn TLS on.
  equal(readTemporalServer({ TEMPORAL_API_KEY: "secret", TEMPORAL_TLS: "false" }).access.tls, false);
});

Deno.test("readTemporalServer: reads an API key from a file, anew each time", () => {
  withFile("first\n", (_, path) => {
    const env = { TEMPORAL_API_KEY_PATH: path };
    const { access: { apiKey, tls } } = readTemporalServer(env);
    deepEqual([apiKey, tls], ["first", true]);
    writeFileSync(path, "second");
    equal(readTemporalServer(env).access.apiKey, "second");
    writeFileSync(path, "\n");
    match(
      fault(env),
      /^Failed to read Temporal's settings: TEMPORAL_API_KEY_PATH "\/.*temporal.toml": the file is empty$/,
    );
    match(
      fault({ ...env, TEMPORAL_API_KEY: "third" }),
      /TEMPORAL_API_KEY and TEMPORAL_API_KEY_PATH are mutually exclusive$/,
    );
    match(fault({ TEMPORAL_API_KEY_PATH: `${path}.not` }), /ENOENT/);
  });
});

for (const [value, isOn] of [["true", true], ["True", true], ["1", true], ["FALSE", false], ["0", false]] as const) {
  Deno.test(`readTemporalServer: accepts TEMPORAL_TLS=${value}`, () => {
    equal(Boolean(readTemporalServer({ TEMPORAL_TLS: value }).access.tls), isOn);
  });
}

Deno.test("readTemporalServer: refuses settings that would be ignored and lead to plain text", () => {
  equal(
    fault({ TEMPORAL_TLS: "yes" }),
    `Failed to read Temporal's settings: TEMPORAL_TLS is "yes"; expected true or false`,
  );
  match(fault({ TEMPORAL_TLS_CLIENT_CERT_DATA: "certificate" }), /certificate and its key must be set together/);
  match(fault({ TEMPORAL_CONFIG_FILE: "/nowhere/temporal.toml" }), /ENOENT.*"?\/nowhere\/temporal.toml/);
});

Deno.test("readTemporalServer: ignores settings that only other tools of Temporal use", () => {
  const text = `${profiles}disable_host_verification = true\n[profile.default.codec]\nendpoint = "http://codec"\n`;
  withFile(text, (env) => deepEqual(readTemporalServer(env).address, "file:7233"));
});

Deno.test("readTemporalServer: accepts an empty file, which has no profiles", () => {
  equal(readTemporalServer({ TEMPORAL_CONFIG_FILE: "/dev/null" }).address, "127.0.0.1:7233");
  equal(fault({ TEMPORAL_CONFIG_FILE: "/dev/null", TEMPORAL_PROFILE: "cloud" }), noProfile("cloud"));
});

for (const text of ["", "\n", "# profiles come here\n", 'theme = "dark"\n[codec]\nendpoint = "http://codec"\n']) {
  Deno.test(`readTemporalServer: treats a file without a profile as missing, also in the default path: ${JSON.stringify(text)}`, () => {
    withFile(text, (env, path) => {
      for (const where of [env, { TEMPORAL_CONFIG_FILE: path }]) {
        equal(readTemporalServer(where).address, "127.0.0.1:7233");
        equal(fault({ ...where, TEMPORAL_PROFILE: "cloud" }), noProfile("cloud"));
      }
    });
  });
}

Deno.test("readTemporalServer: quotes no line of an invalid file, because it may be the key", () => {
  withFile(`[profile.default]\napi_key = "sec"ret"\n`, (env) => {
    const message = fault(env);
    match(message, /Failed to read Temporal's settings: Invalid TOML document/);
    doesNotMatch(message, /sec/);
  });
});
