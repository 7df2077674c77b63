/**
 * Validates images with the steps of the workflow, but without a workflow, over objects in memory and a real registry.
 */
import { resolveImage } from "../../../activities/os_image/resolve_image.ts";
import { ensureImageTold } from "../../../activities/os_image/tell_image.ts";
import { verifyImage } from "../../../activities/os_image/verify_image.ts";
import { acceptedImageOf } from "../../../activities/os_image/accepted_image.ts";
import { OSImage } from "../../../activities/kube/os_images.ts";
import type { AcceptedImage, ImageFinding } from "../../../workflows/contracts/mod.ts";
import { inActivity } from "../activity_context.ts";
import { FakeKube } from "../fake_kube.ts";

const creationTimestamp = "2026-01-01T00:00:00Z";

export class Admission {
  readonly kube = new FakeKube();
  #generation = 0;

  /** Replaces the spec of the OSImage, which increments its generation. */
  ask(spec: object): void {
    this.#generation += 1;
    const status = this.kube.get("osimages", "image")?.["status"];
    const metadata = { name: "image", creationTimestamp, generation: this.#generation };
    this.kube.put("osimages", { metadata, spec, ...(status === undefined ? {} : { status }) });
  }

  /** Validates the image, and writes the status; returns the reason of the result, "Accepted" on success. */
  async judge(now = Date.now()): Promise<string> {
    const object = { name: "image" };
    const finding = await inActivity(() => this.#find(now), { attempt: 100 });
    await ensureImageTold(this.kube.client, { object, finding }, now);
    return finding.state === "Accepted" ? "Accepted" : finding.reason;
  }

  async #find(now: number): Promise<ImageFinding> {
    const object = { name: "image" };
    try {
      const look = await resolveImage(this.kube.client, { object });
      if (look.outcome === "Gone") throw new Error("Failed to validate: the image does not exist");
      if (look.outcome === "Unknown") return { state: "Unknown", reason: look.reason, message: look.message };
      if (look.outcome === "Refused") return { state: "Refused", ...look };
      const { image } = look;
      const verdict = await verifyImage(this.kube.client, { object, image }, now);
      if (verdict.outcome === "Verified") return { state: "Accepted", image, evidence: verdict.evidence };
      if (verdict.outcome === "Unknown") return { state: "Unknown", reason: verdict.reason, message: verdict.message };
      return { state: "Refused", ...verdict, image };
    } catch (error) {
      if ((error as { type?: string }).type !== "RegistryUnreachable") throw error;
      return { state: "Unknown", reason: "RegistryUnreachable", message: (error as Error).message };
    }
  }

  get object(): OSImage {
    return OSImage.parse(this.kube.get("osimages", "image"));
  }

  get accepted(): AcceptedImage {
    return acceptedImageOf("image", this.object);
  }

  /** The message of the condition Accepted. */
  get message(): string {
    return this.object.status?.conditions.find(({ type }) => type === "Accepted")?.message ?? "";
  }
}
