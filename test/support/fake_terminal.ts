/** A terminal for tests of the command line: files in its own folder, and the output. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runProgram } from "../../cli/program.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { closeTemplateEngines } from "../../profiles/mod.ts";

Deno.test.afterAll(() => closeTemplateEngines());

/** The end of a command. */
export interface Ended {
  code: number;
  out: string;
  err: string;
}

/** A folder with files in which commands run; disposing removes it. */
export class FakeTerminal {
  readonly directory = mkdtempSync(join(tmpdir(), "ostler-cli-"));

  constructor(files: Record<string, string> = {}) {
    for (const [name, text] of Object.entries(files)) this.write(name, text);
  }

  write(name: string, text: string): void {
    const path = join(this.directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  /** Runs `ostler` with these arguments; it finds no other program unless `env` has a PATH. */
  async run(args: string[], given: Partial<Terminal> & { stdin?: string } = {}): Promise<Ended> {
    const said = { out: "", err: "" };
    const { stdin = "", ...more } = given;
    const terminal: Terminal = {
      out: (text) => void (said.out += text),
      err: (text) => void (said.err += text),
      isWatched: false,
      isErrWatched: false,
      readStdin: () => Promise.resolve(stdin),
      directory: this.directory,
      env: {},
      ...more,
    };
    return { code: await runProgram(terminal, args), ...said };
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true });
  }
}

/** A MachineDeployment in YAML, on kubevirt with Ubuntu. */
export function deploymentYaml(profile = "osp-acme"): string {
  return `apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata:
  name: pool
  namespace: kube-system
  annotations: { k8c.io/operating-system-profile: ${profile} }
spec:
  template:
    spec:
      versions: { kubelet: 1.36.1 }
      providerSpec:
        value:
          cloudProvider: kubevirt
          cloudProviderSpec: {}
          operatingSystem: ubuntu
          operatingSystemSpec: {}
`;
}

/** A complete profile in YAML with one file per phase; `more` is indented as fields of the spec. */
export function profileYaml(
  { name = "osp-acme", version = "v1.0.0", data = "pool <%= it.name %>", more = "" } = {},
): string {
  return `apiVersion: operatingsystemmanager.k8c.io/v1alpha1
kind: OperatingSystemProfile
metadata: { name: ${name} }
spec:
  osName: ubuntu
  osVersion: "24.04"
  version: ${version}
  templating: eta
  supportedCloudProviders: [{ name: kubevirt }]
  bootstrapConfig:
    files:
      - path: /etc/motd
        content:
          inline:
            data: |
${data.replaceAll(/^/gm, "              ")}
  provisioningConfig:
    files:
      - path: /opt/bin/hello
        permissions: 755
        content: { inline: { encoding: b64, data: "#!/bin/sh\\necho <%= it.proxy.http %>\\n" } }
${more}`;
}
