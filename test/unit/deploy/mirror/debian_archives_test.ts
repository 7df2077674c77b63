import assert from "node:assert/strict";
import { debianArchives } from "../../../../deploy/local/mirror/debian_archives.ts";

/** Returns the output of apt programs on a host with these sources, and with `proxy` unless it is empty. */
function apt(sources: string[], proxy = ""): (program: string) => Promise<string> {
  const config = proxy === "" ? "" : `PROXY='${proxy}'\n`;
  return (program) => Promise.resolve(program === "apt-get" ? `${sources.join("\n")}\n` : config);
}

Deno.test("debianArchives: finds Debian's archives among the host's apt sources, whatever their addresses", async () => {
  const found = await debianArchives(apt([
    "https://packages.example/node/|bookworm|main|Node",
    "https://packages.example/debian/|bookworm|stable|Engine",
    "https://site.example/apt/deb-updates/|bookworm-updates|main|Debian",
    "https://site.example/apt/deb/|bookworm|contrib|Debian",
    "https://site.example/apt/deb/|bookworm|main|Debian",
    "https://site.example/apt/sec/|bookworm-security|main|Debian-Security",
  ]));
  assert.deepEqual(found, {
    debian: "https://site.example/apt/deb",
    "debian-security": "https://site.example/apt/sec",
  });
});

Deno.test("debianArchives: finds archives by path when apt has fetched no lists yet", async () => {
  const found = await debianArchives(apt([
    "http://mirror.example/debian-security/|bookworm-security|main|$(LABEL)",
    "http://mirror.example/debian/|bookworm|main|$(LABEL)",
  ]));
  assert.deepEqual(found, {
    debian: "http://mirror.example/debian",
    "debian-security": "http://mirror.example/debian-security",
  });
});

Deno.test("debianArchives: derives the security archive when the host names none", async () => {
  const { debian, "debian-security": security } = await debianArchives(
    apt(["http://mirror.example/pub/debian/|trixie|main|Debian", "file:/srv/debian/|trixie|main|Debian"]),
  );
  assert.deepEqual([debian, security], [
    "http://mirror.example/pub/debian",
    "http://mirror.example/pub/debian-security",
  ]);
});

Deno.test("debianArchives: returns the proxy of apt, and none when apt connects directly", async () => {
  const source = "http://mirror.example/debian/|bookworm|main|Debian";
  assert.equal((await debianArchives(apt([source], "http://proxy.example:3142"))).proxy, "http://proxy.example:3142");
  assert.equal("proxy" in await debianArchives(apt([source], "DIRECT")), false);
});

Deno.test("debianArchives: refuses a host whose apt has no archive of Debian", async () => {
  const noArchives = (): Promise<undefined> => Promise.resolve(undefined);
  for (const ask of [noArchives, apt(["http://archive.ubuntu.example/ubuntu/|noble|main|Ubuntu"])]) {
    await assert.rejects(debianArchives(ask), /apt on this host has no archive of Debian over http or https$/);
  }
});
