/** An image in a registry in memory, and the spec of an OSImage that trusts signatures by one GitHub workflow. */
import { Admission } from "./admission.ts";
import { FakeRegistry } from "./fake_registry.ts";
import { type KeylessLayer, Sigstore, workflow } from "./keyless_signer.ts";
import type { MadeImage } from "./made_image.ts";

export interface KeylessScene {
  registry: FakeRegistry;
  image: MadeImage;
  sigstore: Sigstore;
  admission: Admission;
  spec: { reference: string; keyless: ReturnType<Sigstore["trust"]> };
  /** Validates the image when only this layer is attached to it; returns the resulting reason. */
  judgeWith(layer: Pick<KeylessLayer, "mediaType" | "bytes"> & { annotations?: object }): Promise<string>;
}

export async function onKeylessScene(run: (scene: KeylessScene) => Promise<void>): Promise<void> {
  await using registry = new FakeRegistry();
  const image = registry.put("v1", { content: "1" });
  const [sigstore, admission] = [await Sigstore.open(), new Admission()];
  const spec = { reference: `${registry.host}/os/a:v1`, keyless: sigstore.trust(workflow) };
  admission.ask(spec);
  const judgeWith: KeylessScene["judgeWith"] = (layer) => {
    registry.attach(`${image.digest.replace(":", "-")}.sig`, [layer]);
    return admission.judge();
  };
  await run({ registry, image, sigstore, admission, spec, judgeWith });
}
