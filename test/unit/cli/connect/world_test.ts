import { rejects } from "node:assert/strict";
import { connectWorld } from "../../../../cli/connect/world.ts";
import { UsageError } from "../../../../cli/usage_error.ts";
import { FakeTerminal } from "../../../support/fake_terminal.ts";

Deno.test("connectWorld: reads the given temporal.toml relative to the working directory", async () => {
  using terminal = new FakeTerminal({ "temporal.toml": `[profile.north]\naddress = "127.0.0.1:1"\n` });
  const env = { TEMPORAL_CONFIG_FILE: "temporal.toml", TEMPORAL_PROFILE: "south" };
  const world = connectWorld({ env, directory: terminal.directory } as never, {});
  await rejects(
    world.engine(),
    new UsageError(`Failed to read Temporal's settings: Profile 'south' not found in config data`),
  );
});
