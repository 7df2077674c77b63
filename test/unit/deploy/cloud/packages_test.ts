import assert from "node:assert/strict";
import { packagesOf } from "../../../../deploy/local/cloud/boot/boot.ts";
import type { CloudConfig } from "../../../../deploy/local/cloud/boot/cloud_config.ts";

function config(content?: string): CloudConfig {
  const files = new Map(content === undefined ? [] : [["/opt/bin/install-packages", { content, mode: 0o755 }]]);
  return { hostname: "w-1", files, commands: [] };
}

Deno.test("packagesOf: reads the list in the machine's script", () => {
  const script =
    "#!/bin/bash\nset -e\npackages=(\n  curl\n  # for time\n  chrony\n)\n\napt_get() {\n  apt-get (x)\n}\n";
  assert.deepEqual(packagesOf(config(script)), ["curl", "chrony"]);
});

Deno.test("packagesOf: returns an empty list when the script is missing, or has no list of packages", () => {
  assert.deepEqual(packagesOf(config()), []);
  assert.deepEqual(packagesOf(config("#!/bin/bash\n")), []);
});
