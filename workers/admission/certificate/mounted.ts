/** A certificate that somebody else makes and renews, such as cert-manager: files of a folder. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Shown } from "./keep_serving.ts";

/** Whether somebody put a certificate into the folder. */
export function isMounted(folder: string): boolean {
  return existsSync(join(folder, "tls.crt"));
}

/** Reads tls.crt and tls.key of a folder; throws when they are missing or do not belong together. */
export async function readCertificate(folder: string): Promise<Shown> {
  try {
    const [cert, key] = await Promise.all(["tls.crt", "tls.key"].map((file) => readFile(join(folder, file), "utf8")));
    const files = { cert: cert ?? "", key: key ?? "" };
    if (new X509Certificate(files.cert).checkPrivateKey(createPrivateKey(files.key))) return files;
    throw new Error("tls.crt and tls.key do not belong together");
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    throw new Error(`Cannot use the certificate in "${folder}": ${code ?? message}`);
  }
}
