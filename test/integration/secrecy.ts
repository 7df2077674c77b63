/** Searches for secret bytes where none may be: histories, logs, Events, configs and statuses. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { World } from "./world.ts";

interface SecretObject {
  metadata: { name: string };
  data?: Record<string, string>;
}

/** Collects secret texts over time, because credentials are renewed and user-data is deleted. */
export class SecretCollector {
  readonly #texts = new Map<string, string>();

  constructor(private readonly world: World) {}

  /** Records every current secret. */
  async collect(): Promise<void> {
    for (const namespace of ["cloud-init-settings", "kube-system"]) {
      for (const secret of await this.world.list<SecretObject>(`/api/v1/namespaces/${namespace}/secrets`)) {
        for (const [key, value] of Object.entries(secret.data ?? {})) {
          this.#remember(`${secret.metadata.name}/${key}`, value);
        }
      }
    }
  }

  // Remembers tokens and single long lines to search for, because a leak hardly ever contains the whole text of a
  // secret.
  #remember(source: string, base64: string): void {
    const text = Buffer.from(base64, "base64").toString();
    if (/token-secret$/.test(source)) this.#texts.set(text, source);
    for (const [token] of text.matchAll(/eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/g)) {
      this.#texts.set(token, source);
    }
    for (const [, content = ""] of text.matchAll(/content: (?:\|-?\n *)?["']?([A-Za-z0-9+/=]{60,})/g)) {
      this.#texts.set(content.slice(0, 60), source);
      const decoded = Buffer.from(content, "base64").toString().trim();
      if (decoded.startsWith("eyJ")) this.#texts.set(decoded, source);
    }
  }

  get size(): number {
    return this.#texts.size;
  }

  /**
   * Fails with the name of the secret and the place if a secret text is found in any place, or in a text of `more`,
   * which has pairs of a place and a text.
   */
  async assertNowhere(more: [string, string][] = []): Promise<void> {
    assert.ok(this.size > 5, `Collected only ${this.size} secret texts`);
    const places = [...await this.#places(), ...more];
    // The search itself works: names, which are not secret, are found in histories and logs.
    for (const known of ["publishDesired", "Signalled the rollout"]) {
      assert.ok(places.some(([, text]) => text.includes(known)), `"${known}" was not found where it must be`);
    }
    for (const [place, text] of places) {
      for (const [secret, source] of this.#texts) {
        assert.ok(!text.includes(secret), `Found a secret byte of "${source}" in ${place}`);
        for (const encoded of encodingsOf(secret)) {
          assert.ok(!text.includes(encoded), `Found an encoded secret byte of "${source}" in ${place}`);
        }
      }
    }
  }

  async #places(): Promise<[string, string][]> {
    return [...await this.#histories(), ...await this.#logs(), ...await this.#objects()];
  }

  async #histories(): Promise<[string, string][]> {
    const places: [string, string][] = [];
    for await (const { workflowId, runId } of this.world.temporal.workflow.list()) {
      const history = await this.world.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
      // Payloads are bytes; latin1 makes one character of each byte, so a search finds text in them.
      places.push([`the history of ${workflowId}`, flat(history)]);
    }
    assert.ok(places.length > 0, "Found no history");
    return places;
  }

  async #logs(): Promise<[string, string][]> {
    const folder = join(this.world.site.stack.directory, "logs");
    const files = await readdir(folder);
    assert.ok(files.length >= 7, `Found only ${files.length} logs`);
    return await Promise.all(files.map(async (file): Promise<[string, string]> => [
      `log ${file}`,
      await readFile(join(folder, file), "utf8"),
    ]));
  }

  async #objects(): Promise<[string, string][]> {
    const paths = [
      "/api/v1/events",
      "/apis/operatingsystemmanager.k8c.io/v1alpha1/operatingsystemconfigs",
      "/apis/ostler.dev/v1alpha1/rollouts",
      "/apis/cluster.k8s.io/v1alpha1/machines",
    ];
    return await Promise.all(paths.map(async (path): Promise<[string, string]> => [
      path,
      JSON.stringify(await this.world.list<unknown>(path)),
    ]));
  }
}

function flat(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("latin1");
  if (Array.isArray(value)) return value.map(flat).join(" ");
  if (typeof value === "object" && value !== null) return Object.values(value).map(flat).join(" ");
  return String(value);
}

/**
 * Returns three base64 texts, one for each position of `secret` within a group of three bytes. The base64 of any text
 * that contains `secret` contains one of these three.
 */
export function encodingsOf(secret: string): string[] {
  return [0, 1, 2].map((shift) => {
    const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(secret)]);
    // The first characters also encode bytes before the secret, and the last ones bytes after it.
    const whole = Math.floor(bytes.length / 3) * 4;
    return bytes.toString("base64").slice(shift === 0 ? 0 : shift + 1, whole).slice(0, 40);
  });
}
