import { equal, match, ok } from "node:assert/strict";
import { upgradeDetails } from "../../../../workflows/status/upgrade_page.ts";
import { controlPlane, surveyedUpgrade, upgraded, versions } from "../../../support/upgrade_surveys.ts";

const object = { name: "v" };
const awaiting = { reason: "AwaitingApproval", message: "Waiting for approval" };

Deno.test("upgradeDetails: shows versions, each control plane with its state, workers, and what to do", () => {
  const controlPlanes = [
    ...[controlPlane("a", upgraded), controlPlane("b", { isLeader: true, isReady: false })],
    controlPlane("c", { components: versions.desired, isUnderWay: true, isCordoned: true }),
  ];
  const page = upgradeDetails(object, awaiting, surveyedUpgrade({ approved: "", controlPlanes }));
  equal(
    page.slice(0, page.indexOf("\n\n\u00a0")),
    [
      ...["## AwaitingApproval: Waiting for approval", ""],
      ...["**NodeVersion** `v`, Kubernetes `v1.35.4` to `v1.36.1`, not approved", ""],
      ...["**1 of 3 control planes are up to date**", ""],
      "| Control plane | Kubelet | Components | etcd | Ready | State |",
      "| --- | --- | --- | --- | --- | --- |",
      "| `c` | `v1.35.4` | `v1.36.1` |  | yes | being upgraded |",
      "| `b` | `v1.35.4` | `v1.35.4` | leader | **no** | waits |",
      "| `a` | `v1.36.1` | `v1.36.1` |  | yes | up to date |",
      ...["", "**Workers** 5 with kubelet `v1.34.0` to `v1.35.4`", ""],
      "**What to do** Read ostler plan nodeversion/NAME, then set annotation ostler.dev/approved-kubernetes of the " +
      "NodeVersion to the version.",
    ].join("\n"),
  );
});

Deno.test("upgradeDetails: shows only the status before the first survey, and no task when there is nothing to do", () => {
  const page = upgradeDetails(object, { reason: "Checking", message: "m".repeat(2_000) }, null);
  match(page, /^## Checking\n\nm{899}…\n/);
  ok(!page.includes("to do"));
});

Deno.test("upgradeDetails: is bounded for hundreds of control planes with long names and hostile texts", () => {
  const odd = "](javascript:alert(1)) | <b>` \u202e\n# ";
  const controlPlanes = Array.from({ length: 500 }, (_, nth) => controlPlane(`${odd}${"x".repeat(250)}-${nth}`));
  const survey = surveyedUpgrade({ controlPlanes, cluster: odd.repeat(100), version: odd.repeat(100) });
  const page = upgradeDetails({ name: odd.repeat(100) }, { reason: odd, message: odd.repeat(1_000) }, survey);
  ok(page.length <= 4_000, String(page.length));
  ok(encodeURIComponent(page).length <= 8_000, String(encodeURIComponent(page).length));
  ok(!/^# |\n# /.test(page));
  const known = upgradeDetails(
    object,
    awaiting,
    surveyedUpgrade({
      controlPlanes: Array.from({ length: 500 }, (_, nth) => controlPlane(`cp-${nth}`)),
    }),
  );
  match(known, /\n\nand 491 more\n\n/);
});
