import { deepEqual, equal, match } from "node:assert/strict";

const child = new URL("./count_groups.ts", import.meta.url).href;
const patientChild = new URL("./count_until_answered.ts", import.meta.url).href;
const role = "arn:aws:iam::123456789012:role/ostler";

function assumed(): string {
  const expiration = new Date(Date.now() + 1000).toISOString();
  const keys = "<AccessKeyId>ASIAEXAMPLE</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>";
  const credentials = `${keys}<SessionToken>session</SessionToken><Expiration>${expiration}</Expiration>`;
  const result = `<AssumeRoleWithWebIdentityResult><Credentials>${credentials}</Credentials>`;
  return `<AssumeRoleWithWebIdentityResponse>${result}</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`;
}

const groups = "<DescribeAutoScalingGroupsResponse><DescribeAutoScalingGroupsResult><AutoScalingGroups/>" +
  "</DescribeAutoScalingGroupsResult></DescribeAutoScalingGroupsResponse>";

Deno.test("fault G10: AWS: a process with the worker's permissions trades the token of its ServiceAccount for credentials", async () => {
  const folder = await Deno.makeTempDir();
  const tokens: (string | null)[] = [];
  const signatures: (string | null)[] = [];
  await Deno.writeTextFile(`${folder}/token`, "token-1");
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    const form = new URLSearchParams(await request.text());
    if (form.get("Action") === "AssumeRoleWithWebIdentity") {
      equal(form.get("RoleArn"), role);
      tokens.push(form.get("WebIdentityToken"));
      // Replaces the token in the file, as the kubelet does before a token expires.
      await Deno.writeTextFile(`${folder}/token`, "token-2");
      return new Response(assumed(), { headers: { "content-type": "text/xml" } });
    }
    equal(form.get("Action"), "DescribeAutoScalingGroups");
    equal(request.headers.get("x-amz-security-token"), "session");
    signatures.push(request.headers.get("authorization"));
    return new Response(groups, { headers: { "content-type": "text/xml" } });
  });
  try {
    const address = `http://127.0.0.1:${server.addr.port}`;
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--no-check",
        "--no-prompt",
        "--allow-net",
        "--allow-read",
        "--allow-env",
        "--allow-sys",
        child,
        address,
      ],
      clearEnv: true,
      env: {
        ...{ PATH: Deno.env.get("PATH") ?? "", HOME: Deno.env.get("HOME") ?? "", NO_COLOR: "1" },
        ...{ AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: `${folder}/token`, AWS_REGION: "eu-west-1" },
        ...{ AWS_ENDPOINT_URL_STS: address, AWS_EC2_METADATA_DISABLED: "true" },
      },
    }).output();
    const text = new TextDecoder();
    equal(code, 0, text.decode(stderr));
    equal(text.decode(stdout), "0\n0\n");
  } finally {
    await server.shutdown();
    await Deno.remove(folder, { recursive: true });
  }
  deepEqual([tokens.at(0), tokens.at(-1)], ["token-1", "token-2"]);
  equal(signatures.length, 2);
  for (const signature of signatures) match(signature ?? "", /Credential=ASIAEXAMPLE\//);
});

Deno.test("AWS: a request for credentials without an answer, or with half of one, ends at its timeout and is repeated", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/token`, "token-1");
  let asked = 0;
  const half = (): ReadableStream =>
    new ReadableStream({ start: (end) => end.enqueue(new TextEncoder().encode("<A")) });
  const ending = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {}, signal: ending.signal },
    async (request) => {
      const form = new URLSearchParams(await request.text());
      const headers = { "content-type": "text/xml" };
      if (form.get("Action") !== "AssumeRoleWithWebIdentity") return new Response(groups, { headers });
      asked++;
      if (asked === 1) return new Response(half(), { headers });
      return asked <= 4 ? await new Promise<Response>(() => {}) : new Response(assumed(), { headers });
    },
  );
  try {
    const address = `http://127.0.0.1:${server.addr.port}`;
    const permissions = ["--allow-net", "--allow-read", "--allow-env", "--allow-sys"];
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-check", "--no-prompt", ...permissions, patientChild, address],
      clearEnv: true,
      env: {
        ...{ PATH: Deno.env.get("PATH") ?? "", HOME: Deno.env.get("HOME") ?? "", NO_COLOR: "1" },
        ...{ AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: `${folder}/token`, AWS_REGION: "eu-west-1" },
        ...{ AWS_ENDPOINT_URL_STS: address, AWS_EC2_METADATA_DISABLED: "true" },
      },
      signal: AbortSignal.timeout(30_000),
    }).output();
    const text = new TextDecoder();
    match(text.decode(stdout), /^(ApiUnavailable\n)+0\n$/, `${asked} requests; ${text.decode(stderr)}`);
  } finally {
    ending.abort();
    await server.finished.catch(() => {});
    await Deno.remove(folder, { recursive: true });
  }
});
