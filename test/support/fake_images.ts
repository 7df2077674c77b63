/** The activities that admit an image; a test sets their results for each object, by its name. */
import type {
  ImageActivities,
  ImageFinding,
  ImageLook,
  ImageVerdict,
  ResolvedImage,
} from "../../workflows/contracts/mod.ts";

/** Returns the result of finding an image in its registry, with default values for fields that are not given. */
export function resolved(overrides: Partial<ResolvedImage> = {}): ResolvedImage {
  const digest = `sha256:${"1".repeat(64)}`;
  return { generation: 1, repository: "registry.example/os", digest, ...overrides };
}

export class FakeImages {
  /** The results of the reads of each image, in order, the last one repeatedly; an Error is thrown. */
  readonly looks = new Map<string, (ImageLook | Error)[]>();
  readonly verdicts = new Map<string, (ImageVerdict | Error)[]>();
  /** The results that were reported for each image, by name. */
  readonly told = new Map<string, ImageFinding[]>();
  /** Calls in order, as "activity name". */
  readonly calls: string[] = [];
  /** Runs while an image is verified. */
  whileVerified: (name: string) => Promise<void> = () => Promise.resolve();

  all(): ImageActivities {
    return {
      resolveImage: ({ object: { name } }) => this.#answer("resolveImage", name, this.looks),
      verifyImage: async ({ object: { name } }) => {
        await this.whileVerified(name);
        return await this.#answer("verifyImage", name, this.verdicts);
      },
      ensureImageTold: ({ object: { name }, finding }) => {
        this.calls.push(`ensureImageTold ${name}`);
        this.told.set(name, [...this.told.get(name) ?? [], finding]);
        return Promise.resolve("Told");
      },
    };
  }

  async #answer<T>(activity: string, name: string, answers: Map<string, (T | Error)[]>): Promise<T> {
    await Promise.resolve();
    this.calls.push(`${activity} ${name}`);
    const queue = answers.get(name) ?? [];
    const answer = queue.length > 1 ? queue.shift() : queue[0];
    if (answer === undefined) throw new Error(`Failed to answer ${activity} of "${name}": the test set no answer`);
    if (answer instanceof Error) throw answer;
    return answer;
  }
}
