/** The script that replaces a kubelet on its host, with fakes of systemd and of the kubelet's port. */
import { equal } from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmod, link, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../../../../activities/kubernetes/swap_kubelet.sh", import.meta.url));

/** Runs the script on a host whose kubelet is the wanted one, has this config, and is healthy at the URL only. */
async function swap(config: string, healthyAt: string): Promise<number> {
  const host = await mkdtemp(join(tmpdir(), "ostler-swap-"));
  const at = (name: string): string => join(host, name);
  const program = async (name: string, text: string): Promise<void> => {
    await writeFile(at(name), `#!/bin/sh\n${text}\n`);
    await chmod(at(name), 0o755);
  };
  try {
    await mkdir(at("proc/1"), { recursive: true });
    await writeFile(at("config.yaml"), config);
    await writeFile(at("kubelet"), "the kubelet");
    await link(at("kubelet"), at("proc/1/exe"));
    await program("systemctl", `case $1 in show) echo 1 ;; esac`);
    await program("journalctl", ":");
    await program("curl", `case "$*" in *"--noproxy * "*" ${healthyAt}") printf ok ;; *) exit 7 ;; esac`);
    const hash = `sha256:${createHash("sha256").update("the kubelet").digest("hex")}`;
    const { code } = await new Deno.Command("/bin/sh", {
      args: [script, at("proc"), at("config.yaml"), "2", at("kubelet"), hash, at("fetched")],
      env: { PATH: `${host}:/usr/bin:/bin` },
      stdout: "null",
    }).output();
    return code;
  } finally {
    await rm(host, { recursive: true, force: true });
  }
}

for (
  const [config, url] of [
    ["healthzPort: 10248\n", "http://127.0.0.1:10248/healthz"],
    ["healthzBindAddress: 10.0.0.5\nhealthzPort: 10300\n", "http://10.0.0.5:10300/healthz"],
    ['healthzBindAddress: "fd00::5"\n', "http://[fd00::5]:10248/healthz"],
    ["healthzBindAddress: '::'\n", "http://[::1]:10248/healthz"],
    ["healthzBindAddress: 0.0.0.0\n", "http://127.0.0.1:10248/healthz"],
  ] as const
) {
  Deno.test(`swap_kubelet: finds a kubelet healthy at ${url} by its configuration ${JSON.stringify(config)}`, async () => {
    equal(await swap(config, url), 0);
  });
}
