/** The command for OSImages. */
import { Argument, type Command } from "commander";
import { exitCodes } from "../failure.ts";
import { tableOutput, withConnection } from "../rollout/cluster_command.ts";
import { UsageError } from "../usage_error.ts";
import type { Wiring } from "../wiring.ts";
import type { ImageFlags } from "./image_flags.ts";

const actions = ["list", "show", "admit"] as const;
type Action = typeof actions[number];

/** Adds the command. */
export function addImage(program: Command, { terminal, end, inWorld }: Wiring): void {
  const command = program.command("image")
    .summary("show OSImages, or evaluate one again")
    .description(
      "list: show all OSImages and whether each is accepted; show: show one in full, with digests accepted before; " +
        "admit: query its registry again, and wait for the result (exit code 0 when accepted)",
    )
    .addArgument(new Argument("<action>", "action").choices(actions))
    .argument("[image]", "name of an OSImage, for show and admit")
    .addOption(tableOutput("wide", "json", "yaml"))
    .option("--timeout <duration>", "with admit: longest wait, such as 90s", "5m");
  const finished = withConnection(command).addHelpText("after", `\n${exitCodes}`);
  finished.action(async (action: Action, image: string | undefined, given: ImageFlags) => {
    if (action === "list") {
      if (image !== undefined) {
        throw new UsageError(`Failed to list "${image}": "list" takes no name; use \`ostler image show ${image}\``);
      }
      const { listImages } = await import("./list_images.ts");
      return end(await inWorld(given, (world) => listImages(terminal, world, given)));
    }
    if (image === undefined) throw new UsageError(`Failed to ${action} an OSImage: its name is missing`);
    if (action === "show") {
      const { showImage } = await import("./show_image.ts");
      return end(await inWorld(given, (world) => showImage(terminal, world, { ...given, image })));
    }
    const { admitImage } = await import("./admit_image.ts");
    end(await inWorld(given, (world) => admitImage(terminal, world, { ...given, image })));
  });
}
