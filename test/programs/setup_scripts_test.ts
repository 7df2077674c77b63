import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { BootSandbox } from "../support/boot_sandbox.ts";
import { type FactOverrides, renderFacts } from "../support/render_facts.ts";

const kubeconfigSecret = "kube-system-pool-kubelet-bootstrap-config";
const note = `echo "\${0##*/} $*" >>"$SANDBOX/log"`;

/**
 * A fake systemctl: prints the given states of kubelet.service one after another, and then always the last one. The
 * kubelet writes its kubeconfig at once. It has its certificate in the state "running", but not in "waiting", which
 * systemd also calls running.
 */
const kubeletStates = `if [[ $1 == show ]]; then
  mapfile -t states <"$SANDBOX/kubelet-states"
  if [[ \${states[0]} == running ]]; then echo own >"$SANDBOX/etc/kubernetes/pki/kubelet-client-current.pem"; fi
  if [[ \${states[0]} =~ running|waiting ]]; then install -D /etc/hostname "$SANDBOX/var/lib/kubelet/kubeconfig"; fi
  echo "SubState=\${states[0]/waiting/running}"
  ((\${#states[@]} == 1)) || printf '%s\\n' "\${states[@]:1}" >"$SANDBOX/kubelet-states"
  exit
fi
`;

/** A machine with the files of phase two (provisioning), on which every command only records that it was called. */
async function machine(profile: string, facts: FactOverrides = {}): Promise<BootSandbox> {
  const sandbox = await BootSandbox.create(profile, "provisioning", renderFacts(facts));
  const commands = ["systemctl", "modprobe", "sysctl", "swapoff", "hostnamectl", "getenforce", "setenforce"];
  for (const name of [...commands, "update-ca-certificates", "update-ca-trust"]) await sandbox.command(name, note);
  await sandbox.command("systemctl", kubeletStates + note);
  await symlink("/bin/true", `${sandbox.root}/commands/sleep`);
  await sandbox.write("/kubelet-states", "running\n");
  await sandbox.write("/run/containerd/containerd.sock", "");
  for (const name of ["boot-report", "install-packages", "install-binaries"]) {
    await sandbox.write(`/opt/bin/${name}`, `#!/usr/bin/env bash\n${note}\n`);
    await Deno.chmod(`${sandbox.root}/opt/bin/${name}`, 0o755);
  }
  const fetched = `#!/usr/bin/env bash\n${note}\ninstall -m 600 /dev/null "$3"\n`;
  await sandbox.write("/opt/bin/fetch-secret", fetched);
  await Deno.chmod(`${sandbox.root}/opt/bin/fetch-secret`, 0o755);
  await sandbox.write("/etc/selinux/config", "SELINUX=enforcing\n");
  return sandbox;
}

async function logOf(sandbox: BootSandbox): Promise<string[]> {
  return (await sandbox.read("/log") ?? "").trim().split("\n");
}

Deno.test("phase two: turns the machine into a node, reports each step, and deletes its token", async () => {
  await using sandbox = await machine("osp-ubuntu");
  await sandbox.write("/etc/fstab", "LABEL=root / ext4 defaults 0 1\n/swap none swap sw 0 0\n");
  const { code, stdout, stderr } = await sandbox.run("/opt/bin/setup");
  assert.equal(code, 0, stdout + stderr);
  const log = await logOf(sandbox);
  const steps = log.filter((line) => line.startsWith("boot-report ")).map((line) => line.replace(/v\d\S+/g, "V"));
  assert.deepEqual(steps, [
    "boot-report setup Running system",
    "boot-report setup Running trusted CAs",
    "boot-report setup Running packages",
    "boot-report setup Running containerd V and kubelet V",
    "boot-report setup Running bootstrap kubeconfig",
    "boot-report setup Running kubelet",
    "boot-report setup Done",
  ]);
  const order = ["hostnamectl set-hostname machine-1", "install-packages ", "install-binaries ", "fetch-secret "];
  const places = order.map((start) => log.findIndex((line) => line.startsWith(start)));
  assert.deepEqual(places, [...places].sort((left, right) => left - right));
  assert.ok(places.every((place) => place >= 0), log.join("\n"));
  assert.ok(log.some((line) => line.startsWith(`fetch-secret ${kubeconfigSecret} kubeconfig `)));
  assert.equal(log.at(-2), "systemctl start --no-block kubelet.service");
  assert.equal(await sandbox.read("/etc/ostler/token"), undefined);
  assert.equal(await sandbox.read("/etc/ostler/setup-complete"), "");
  assert.match(await sandbox.read("/etc/fstab") ?? "", /^LABEL=root .*\n# disabled for the kubelet: \/swap none swap/);
});

Deno.test("fault S1: phase two deletes the bootstrap kubeconfig only when the kubelet has its own certificate; the kubelet's own kubeconfig is not enough", async () => {
  await using sandbox = await machine("osp-ubuntu");
  await sandbox.command("journalctl", `echo 'E1121 19:06:00.1 17 x.go:1] "No valid client certificate is found"'`);
  const waits = [...Array(100).fill("waiting"), "auto-restart", "start", ...Array(28).fill("waiting"), "running"];
  await sandbox.write("/kubelet-states", `${waits.join("\n")}\n`);
  const bootstrap = "$SANDBOX/etc/kubernetes/bootstrap-kubelet.conf";
  await sandbox.write(
    "/opt/bin/boot-report",
    `#!/usr/bin/env bash\n${note}\n[[ ! -e ${bootstrap} ]] || echo "bootstrap kubeconfig" >>"$SANDBOX/log"\n`,
  );
  const { code, stderr } = await sandbox.run("/opt/bin/setup");
  assert.equal(code, 0, stderr);
  const log = await logOf(sandbox);
  assert.ok(log.some((line) => line.startsWith("fetch-secret ")));
  assert.deepEqual(log.slice(-3), [
    "boot-report setup Failed kubelet.service is not ready after 120 seconds; is its certificate approved " +
    '(kubectl get csr)? "No valid client certificate is found"',
    "bootstrap kubeconfig",
    "boot-report setup Done",
  ]);
  assert.equal(await sandbox.read("/etc/kubernetes/bootstrap-kubelet.conf"), undefined);
  assert.equal(await sandbox.read("/etc/ostler/token"), undefined);
});

Deno.test("fault S1: phase two fetches the bootstrap kubeconfig again only for a kubelet without a certificate", async () => {
  await using sandbox = await machine("osp-ubuntu");
  await sandbox.write("/var/lib/kubelet/kubeconfig", "own");
  assert.equal((await sandbox.run("/opt/bin/setup")).code, 0);
  assert.ok((await logOf(sandbox)).some((line) => line.startsWith("fetch-secret ")));
  await sandbox.write("/log", "");
  assert.equal((await sandbox.run("/opt/bin/setup")).code, 0);
  assert.ok(!(await logOf(sandbox)).some((line) => line.startsWith("fetch-secret ")));
});

Deno.test("phase two: stops after a failure, and keeps what the next attempt needs", async () => {
  await using sandbox = await machine("osp-rockylinux", { provider: { operatingSystem: "rockylinux" } });
  await sandbox.write("/opt/bin/install-binaries", `#!/usr/bin/env bash\necho "no mirror" >&2\nexit 1\n`);
  const { code, stderr } = await sandbox.run("/opt/bin/setup");
  assert.equal(code, 1);
  assert.match(stderr, /no mirror\n$/);
  assert.notEqual(await sandbox.read("/etc/ostler/token"), undefined);
  assert.equal(await sandbox.read("/etc/ostler/setup-complete"), undefined);
  assert.equal(await sandbox.read("/etc/selinux/config"), "SELINUX=permissive\n");
  await sandbox.write("/opt/bin/install-binaries", "#!/usr/bin/env bash\n");
  assert.equal((await sandbox.run("/opt/bin/setup")).code, 0);
});

Deno.test("phase two: completes when the kubelet keeps running, however long it waits for its certificate", async () => {
  await using sandbox = await machine("osp-debian", { provider: { operatingSystem: "debian" } });
  await sandbox.command("journalctl", `echo "E1121 19:06:00.1 17 x.go:1] waiting for \\"server\\""`);
  const waits = ["dead", "start-pre", "start", "running", ...Array(126).fill("start"), "running"];
  await sandbox.write("/kubelet-states", `${waits.join("\n")}\n`);
  const { code, stderr } = await sandbox.run("/opt/bin/setup");
  assert.equal(code, 0, stderr);
  const reports = (await logOf(sandbox)).filter((line) => line.startsWith("boot-report setup")).slice(-3);
  assert.deepEqual(reports, [
    "boot-report setup Running kubelet",
    "boot-report setup Failed kubelet.service is not ready after 120 seconds; is its certificate approved " +
    '(kubectl get csr)? waiting for "server"',
    "boot-report setup Done",
  ]);
});

Deno.test("phase two: fails with the last error of a crashing kubelet, and keeps its token", async () => {
  await using sandbox = await machine("osp-debian", { provider: { operatingSystem: "debian" } });
  await sandbox.write("/kubelet-states", "start\nrunning\nrunning\nauto-restart\n");
  const log = [
    "I1121 19:06:00.100000      17 server.go:1] starting",
    'E1121 19:06:00.200000      17 run.go:72] "command failed" err="unrecognized feature gate: Nonsense"',
    "I1121 19:06:00.300000      17 server.go:2] ended",
  ];
  await sandbox.write("/kubelet-log", `${log.join("\n")}\n`);
  await sandbox.command("journalctl", `[[ $* == *_SYSTEMD_UNIT=kubelet.service* ]] && cat "$SANDBOX/kubelet-log"`);
  const { code, stderr } = await sandbox.run("/opt/bin/setup");
  assert.equal(code, 1);
  assert.equal(
    stderr.trim().split("\n").at(-1),
    'Cannot set up this node: kubelet.service ends again and again: "command failed" ' +
      'err="unrecognized feature gate: Nonsense"',
  );
  assert.notEqual(await sandbox.read("/etc/ostler/token"), undefined);
  assert.equal(await sandbox.read("/etc/ostler/setup-complete"), undefined);
  await sandbox.write("/kubelet-log", "the last words of a program that knows no klog\n");
  await sandbox.write("/kubelet-states", "auto-restart\n");
  assert.match((await sandbox.run("/opt/bin/setup")).stderr, /again and again: the last words of a program/);
});

const noSocket = 'E1121 19:06:00.1 17 run.go:72] "command failed" err="failed to run Kubelet: dial unix ' +
  '/run/containerd/containerd.sock: connect: no such file or directory"';
const badConfig = 'E1121 19:06:10.1 18 run.go:72] "command failed" err="unsupported eviction signal moonlight"';

/** A fake journalctl: prints the given logs of kubelet.service one after another, and then always the last one. */
const kubeletLogs = `mapfile -t logs <"$SANDBOX/kubelet-logs"
echo "\${logs[0]}"
((\${#logs[@]} == 1)) || printf '%s\\n' "\${logs[@]:1}" >"$SANDBOX/kubelet-logs"
`;

Deno.test("fault E15: phase two: reports the setting that the kubelet rejects, and not its earlier failures to connect to containerd", async () => {
  await using sandbox = await machine("osp-debian", { provider: { operatingSystem: "debian" } });
  await sandbox.command("journalctl", kubeletLogs);
  await sandbox.write("/kubelet-states", "start\nauto-restart\nauto-restart\nfailed\nstart\nauto-restart\n");
  await sandbox.write("/kubelet-logs", [noSocket, noSocket, noSocket, badConfig, ""].join("\n"));
  const { code, stderr } = await sandbox.run("/opt/bin/setup");
  assert.equal(code, 1);
  assert.match(stderr, /kubelet\.service ends again and again: .*unsupported eviction signal moonlight"\n$/);
  // The script starts the kubelet once, and once more after systemd has given the unit up.
  const starts = (await logOf(sandbox)).filter((line) => line === "systemctl start --no-block kubelet.service");
  assert.equal(starts.length, 2);
});

Deno.test("fault E15: phase two: starts the kubelet only once containerd listens, and fails with containerd's error if it never listens", async () => {
  await using sandbox = await machine("osp-debian", { provider: { operatingSystem: "debian" } });
  await Deno.remove(`${sandbox.root}/run/containerd/containerd.sock`);
  await Deno.remove(`${sandbox.root}/commands/sleep`);
  await sandbox.command(
    "sleep",
    `${note}\n(($(grep -c ^sleep "$SANDBOX/log") < 3)) || touch "$SANDBOX/run/containerd/containerd.sock"`,
  );
  const { code, stderr } = await sandbox.run("/opt/bin/setup");
  assert.equal(code, 0, stderr);
  const log = await logOf(sandbox);
  const [restarted, started] = ["restart containerd.service", "start --no-block kubelet.service"]
    .map((call) => log.indexOf(`systemctl ${call}`));
  const waits = log.slice(restarted, started).filter((line) => line === "sleep 1");
  assert.equal(waits.length, 3);
  await Deno.remove(`${sandbox.root}/run/containerd/containerd.sock`);
  await sandbox.command("sleep", "true");
  await sandbox.command("journalctl", `echo 'level=fatal msg="no space left"'`);
  const deaf = await sandbox.run("/opt/bin/setup");
  assert.equal(deaf.code, 1);
  assert.match(
    deaf.stderr,
    /containerd\.service does not listen after 120 seconds: level=fatal msg="no space left"\n$/,
  );
});

Deno.test("fault E15: phase two: a cause that has occurred twice stays in the boot report until another cause has occurred twice", async () => {
  await using sandbox = await machine("osp-debian", { provider: { operatingSystem: "debian" } });
  await using first = await BootSandbox.create("osp-debian", "bootstrap", renderFacts());
  const runPhase = await first.read("/opt/bin/run-phase") ?? "";
  await sandbox.write("/opt/bin/run-phase", runPhase.replaceAll(first.root, sandbox.root));
  await Deno.chmod(`${sandbox.root}/opt/bin/run-phase`, 0o755);
  const causes = ["no luck at 12:01", "bad config 1", "bad config 2", "no network", "no network"];
  await sandbox.command("journalctl", kubeletLogs);
  await sandbox.write("/kubelet-logs", `${causes.map((cause) => `Error: ${cause}`).join("\n")}\n`);
  await sandbox.write("/kubelet-states", `${Array(causes.length).fill("auto-restart\n").join("")}running\n`);
  const { code, stderr } = await sandbox.run("/opt/bin/run-phase", `${sandbox.root}/opt/bin/setup`);
  assert.equal(code, 0, stderr);
  const failed = (await logOf(sandbox)).filter((line) => line.startsWith("boot-report setup Failed "));
  const told = (cause: string): string =>
    `Cannot set up this node: kubelet.service ends again and again: Error: ${cause}`;
  assert.deepEqual(failed.map((line) => line.replace("boot-report setup Failed ", "")), [
    `${told(causes[0]!)} (exit code 1, try 1 of 30)`,
    `${told(causes[1]!)} (exit code 1, try 2 of 30)`,
    `${told(causes[2]!)} (exit code 1, try 3 of 30)`,
    `${told(causes[2]!)}; and once: ${told(causes[3]!)} (exit code 1, try 4 of 30)`,
    `${told(causes[4]!)} (exit code 1, try 5 of 30)`,
  ]);
});

Deno.test("phase two: reports why containerd does not start", async () => {
  await using sandbox = await machine("osp-debian", { provider: { operatingSystem: "debian" } });
  await sandbox.command("systemctl", `[[ $* != "restart containerd.service" ]]`);
  const log = ["containerd: starting", 'time="x" level=fatal msg="bad config"', "bye"];
  await sandbox.command("journalctl", `printf '%s\\n' '${log.join("' '")}'`);
  const { code, stderr } = await sandbox.run("/opt/bin/setup");
  assert.equal(code, 1);
  assert.match(stderr, /containerd\.service does not start: time="x" level=fatal msg="bad config"\n$/);
});

Deno.test("phase two: upgrades and reboots once if the MachineDeployment requires it", async () => {
  await using sandbox = await machine("osp-debian", {
    provider: { operatingSystem: "debian", operatingSystemSpec: { distUpgradeOnBoot: true } },
  });
  assert.equal((await sandbox.run("/opt/bin/setup")).code, 0);
  assert.equal((await logOf(sandbox)).at(-1), "systemctl reboot");
  assert.equal(await sandbox.read("/etc/ostler/setup-complete"), undefined);
  assert.equal((await sandbox.run("/opt/bin/setup")).code, 0);
  assert.equal((await logOf(sandbox)).filter((line) => line === "systemctl reboot").length, 1);
  assert.equal(await sandbox.read("/etc/ostler/setup-complete"), "");
});

Deno.test("phase two: installs the host CA before anything is downloaded", async () => {
  const hostCaBundle = "-----BEGIN CERTIFICATE-----\nSE9TVA==\n-----END CERTIFICATE-----\n";
  const places = {
    "osp-ubuntu": ["ubuntu", "/usr/local/share/ca-certificates/ostler.crt", "update-ca-certificates "],
    "osp-rhel": ["rhel", "/etc/pki/ca-trust/source/anchors/ostler.crt", "update-ca-trust extract"],
    "osp-amzn2": ["amzn2", "/etc/pki/ca-trust/source/anchors/ostler.crt", "update-ca-trust extract"],
    "osp-flatcar": ["flatcar", "/etc/ssl/certs/ostler-host-ca.pem", "update-ca-certificates "],
  } as const;
  for (const [profile, [operatingSystem, path, command]] of Object.entries(places)) {
    const provider = { operatingSystem, operatingSystemSpec: {}, cloudProvider: "aws" };
    await using sandbox = await machine(profile, { provider, settings: { hostCaBundle } });
    await sandbox.write(`${path}/../x`, "");
    const { code, stderr } = await sandbox.run("/opt/bin/setup");
    assert.equal(code, 0, profile + stderr);
    assert.equal(await sandbox.read(path), hostCaBundle, profile);
    const log = await logOf(sandbox);
    assert.ok(log.includes(command.trimEnd()) || log.includes(command), profile);
    assert.ok(log.indexOf(command) < log.indexOf("install-binaries "), profile);
  }
});

Deno.test("phase two: enables IPv6 on the connection of the default route if the image disables it", async () => {
  for (const [method, isChanged] of [["disabled", true], ["auto", false]] as const) {
    const provider = { operatingSystem: "rockylinux", network: { ipFamily: "IPv4+IPv6" } };
    await using sandbox = await machine("osp-rockylinux", { provider });
    await sandbox.command("ip", `[[ $2 == -6 ]] || echo "default via 192.0.2.1 dev ens3 proto dhcp metric 100"`);
    await sandbox.command(
      "nmcli",
      `${note}\ncase $2 in GENERAL.CONNECTION) echo "System ens3" ;; ipv6.method) echo ${method} ;; esac`,
    );
    const { code, stderr } = await sandbox.run("/opt/bin/setup");
    assert.equal(code, 0, stderr);
    const changes = (await logOf(sandbox)).filter((line) =>
      line.startsWith("nmcli ") && !line.includes("--get-values")
    );
    const wanted = ["nmcli connection modify System ens3 ipv6.method auto", "nmcli device reapply ens3"];
    assert.deepEqual(changes, isChanged ? wanted : []);
  }
});

Deno.test("node-address: finds the node's hostname, its DNS resolvers, and its addresses in the order that ipFamily names", async () => {
  const network = { ipFamily: "IPv6+IPv4" };
  await using sandbox = await BootSandbox.create("osp-ubuntu", "provisioning", renderFacts({ provider: { network } }));
  const route = "203.0.113.7 via 192.0.2.1 dev eth0 src $source uid 0";
  await sandbox.command("ip", `[[ $2 == -4 ]] && source=10.0.0.5 || source=fd00::5\necho "${route}"`);
  await sandbox.write("/run/systemd/resolve/resolv.conf", "nameserver 192.0.2.53\n");
  const { code, stderr } = await sandbox.run("/opt/bin/node-address");
  assert.equal(code, 0, stderr);
  assert.equal(
    await sandbox.read("/run/ostler/kubelet.env"),
    "KUBELET_NODE_IP=fd00::5,10.0.0.5\nKUBELET_HOSTNAME=machine-1\n",
  );
  assert.equal(await sandbox.read("/run/ostler/resolv.conf"), "nameserver 192.0.2.53\n");
  await Deno.remove(`${sandbox.root}/run/systemd/resolve/resolv.conf`);
  await sandbox.write("/etc/resolv.conf", "nameserver 192.0.2.54\n");
  assert.equal((await sandbox.run("/opt/bin/node-address")).code, 0);
  assert.equal(await sandbox.read("/run/ostler/resolv.conf"), "nameserver 192.0.2.54\n");
  await sandbox.command("ip", "exit 2");
  const lost = await sandbox.run("/opt/bin/node-address");
  assert.equal(lost.code, 1);
  assert.match(lost.stderr, /Cannot find the address of this node: there is no route/);
});

Deno.test("bootstrap: a Flatcar machine on Cloud Director reads its network from the OVF environment", async () => {
  const provider = { operatingSystem: "flatcar", cloudProvider: "vmware-cloud-director" };
  await using sandbox = await BootSandbox.create("osp-flatcar", "bootstrap", renderFacts({ provider }));
  const properties = {
    ...{ numnics: "3", primaryNic: "1", ip_0: "192.0.2.9", netmask_0: "255.255.255.0", macaddr_0: "00:50:56:01:02:03" },
    ...{ ip_1: "198.51.100.9", netmask_1: "255.255.254.0", macaddr_1: "00:50:56:01:02:04", gateway_1: "198.51.100.1" },
    ...{ dns1_1: "198.51.100.53", dns2_1: "", ip_2: "" },
  };
  const xml = Object.entries(properties).map(([key, value]) =>
    `<Property oe:key="vCloud_${key}" oe:value="${value}"/>`
  );
  await sandbox.write("/ovf", `<PropertySection>${xml.join("\n")}</PropertySection>`);
  await sandbox.command("vmtoolsd", `[[ $2 == "info-get guestinfo.ovfEnv" ]] && cat "$SANDBOX/ovf"`);
  await sandbox.command("systemctl", note);
  await sandbox.write("/etc/systemd/network/x", "");
  await sandbox.run("/opt/bin/bootstrap");
  const folder = "/etc/systemd/network/10-cloud-director";
  assert.equal(
    await sandbox.read(`${folder}-0.network`),
    "[Match]\nMACAddress=00:50:56:01:02:03\n[Network]\nAddress=192.0.2.9/24\n",
  );
  assert.equal(
    await sandbox.read(`${folder}-1.network`),
    "[Match]\nMACAddress=00:50:56:01:02:04\n[Network]\nAddress=198.51.100.9/23\nGateway=198.51.100.1\nDNS=198.51.100.53 \n",
  );
  assert.equal(await sandbox.read(`${folder}-2.network`), undefined);
  assert.deepEqual(await logOf(sandbox), ["systemctl restart systemd-networkd.service"]);
});
