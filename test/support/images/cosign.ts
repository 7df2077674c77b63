/** Calls of the real cosign, with keys in a folder that is deleted when the object is disposed of. */
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { definedVariables } from "../../../deploy/local/tools/environment.ts";
import { resolveTools } from "../../../deploy/local/tools/resolve_tools.ts";
import { runCommand } from "../../../deploy/local/tools/run_command.ts";
import type { Holder } from "./fulcio.ts";
import type { Sigstore } from "./keyless_signer.ts";
import { type SigstoreServer, tokenOf } from "./sigstore_server.ts";

/**
 * Where a signature is stored: the tag of cosign 2, an artifact that refers to the image (OCI 1.1), or Sigstore's
 * bundle.
 */
export const signatureForms = {
  tag: [],
  referrer: ["--registry-referrers-mode=oci-1-1"],
  bundle: ["--new-bundle-format", "--use-signing-config=false"],
} as const;

const always = ["--allow-http-registry", "--yes"];
const offline = ["--tlog-upload=false", ...always];

/** How to sign with an ephemeral key: the signer's identity, and the server of certificate authority and log. */
export interface Keyless {
  server: SigstoreServer;
  holder: Holder;
  /** The type of the log entry that records the statement. */
  entry?: "dsse" | "intoto";
}

export class Cosign implements AsyncDisposable {
  private constructor(readonly directory: string, private readonly program: string) {}

  static async open(): Promise<Cosign> {
    const { cosign } = await resolveTools(["cosign"]);
    return new Cosign(await mkdtemp(join(tmpdir(), "ostler-cosign-")), cosign);
  }

  /** Makes a key pair in cosign's format, or imports one of another type; returns the public key as PEM. */
  async makeKey(name: string, kind: "cosign" | "rsa" = "cosign"): Promise<string> {
    const prefix = `--output-key-prefix=${name}`;
    if (kind === "cosign") await this.#run(["generate-key-pair", prefix]);
    else {
      const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
      const pem = privateKey.export({ type: "pkcs8", format: "pem" });
      await writeFile(join(this.directory, `${name}.pem`), pem);
      await this.#run(["import-key-pair", `--key=${name}.pem`, prefix]);
    }
    return await readFile(join(this.directory, `${name}.pub`), "utf8");
  }

  /** Signs an image by its digest. */
  async sign(key: string, image: string, form: keyof typeof signatureForms = "tag"): Promise<void> {
    await this.#run(["sign", ...offline, ...signatureForms[form], `--key=${key}.key`, image]);
  }

  /** Attaches a statement about the image, signed with the key. */
  async attest(key: string, image: string, { type, predicate }: Said): Promise<void> {
    await writeFile(join(this.directory, "predicate.json"), JSON.stringify(predicate));
    await this.#run(["attest", ...offline, `--key=${key}.key`, `--type=${type}`, "--predicate=predicate.json", image]);
  }

  /** Signs an image with an ephemeral key. */
  async signKeyless(keyless: Keyless, image: string, form: keyof typeof signatureForms = "tag"): Promise<void> {
    await this.#run(["sign", ...keylessFlags(keyless), ...signatureForms[form], image]);
  }

  /** Attaches a statement signed with an ephemeral key. */
  async attestKeyless(keyless: Keyless, image: string, { type, predicate }: Said): Promise<void> {
    await writeFile(join(this.directory, "predicate.json"), JSON.stringify(predicate));
    const flags = [...keylessFlags(keyless), `--rekor-entry-type=${keyless.entry ?? "dsse"}`];
    await this.#run(["attest", ...flags, `--type=${type}`, "--predicate=predicate.json", image]);
  }

  /** Throws unless cosign accepts the image's signature by that identity while it trusts that authority and log. */
  async verifyKeyless(sigstore: Sigstore, holder: Holder, image: string): Promise<void> {
    const [root, log] = [join(this.directory, "root.pem"), join(this.directory, "log.pem")];
    await writeFile(root, sigstore.root.pem);
    await writeFile(log, sigstore.log.pem);
    const who = [`--certificate-identity=${holder.subject}`, `--certificate-oidc-issuer=${holder.issuer}`];
    const flags = ["--allow-http-registry", "--insecure-ignore-sct", "--offline", ...who];
    await this.#run(["verify", ...flags, image], { SIGSTORE_ROOT_FILE: root, SIGSTORE_REKOR_PUBLIC_KEY: log });
  }

  async #run(args: string[], own: Record<string, string> = {}): Promise<void> {
    const variables = { COSIGN_PASSWORD: "", COSIGN_EXPERIMENTAL: "1", ...ownLog, ...own };
    const env = { ...definedVariables(Deno.env.toObject()), ...variables };
    const { code, lines } = await runCommand({ program: this.program, args, cwd: this.directory, env });
    if (code !== 0) throw new Error(`Failed to run cosign ${args[0]}: ${lines.slice(-3).join("; ")}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }
}

interface Said {
  type: string;
  predicate: unknown;
}

/**
 * Keeps cosign from reading the keys of the public certificate transparency log, of which these tests verify nothing.
 */
const ownLog = { SIGSTORE_CT_LOG_PUBLIC_KEY_FILE: "/dev/null" };

function keylessFlags({ server: { url }, holder }: Keyless): string[] {
  const places = [`--fulcio-url=${url}`, `--rekor-url=${url}`];
  return [...always, ...places, `--identity-token=${tokenOf(holder)}`, "--insecure-skip-verify"];
}
