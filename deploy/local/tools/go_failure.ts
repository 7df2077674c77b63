import { wantedGo } from "./recipe.ts";

/** The cure for a lack of Go. */
export const installGo = `install Go ${wantedGo.major}.${wantedGo.minor} or newer and have "go" on PATH`;

const isNetwork =
  /dial tcp|no such host|connection re(fused|set)|i\/o timeout|TLS handshake|unexpected EOF|proxyconnect|: 5\d\d |too many requests/i;

// Most specific first: a checksum database that cannot be reached is a network failure too.
const cures: readonly { readonly matches: (text: string) => boolean; readonly cure: string }[] = [
  {
    matches: (text) => /checksum mismatch|SECURITY ERROR/.test(text),
    cure: 'the module that came is not the one that was published: try "go clean -modcache" or another GOPROXY',
  },
  {
    matches: (text) => /verifying \S+|checksum database/.test(text) && isNetwork.test(text),
    cure:
      "make the Go checksum database reachable (GOSUMDB names another); or, if you trust your module proxy without it, " +
      "set GOSUMDB=off, or GONOSUMDB to the modules it need not vouch for",
  },
  {
    matches: (text) => /toolchain not available|requires go >= |download go1/.test(text),
    cure: installGo,
  },
  {
    matches: (text) => isNetwork.test(text) || /disabled by GOPROXY/.test(text),
    cure: "make the Go module proxy reachable, or set GOPROXY to one that is",
  },
  {
    matches: (text) => /C compiler "[^"]*" not found|cannot find -lc\b|rcrt1\.o/.test(text),
    cure: "install a C compiler with a static C library (Debian: gcc libc6-dev)",
  },
  {
    matches: (text) => /no space left on device|disk quota exceeded/.test(text),
    cure: "free some disk space: a first build of all tools takes about 6 GB with Go's caches",
  },
  {
    matches: (text) => /signal: killed|cannot allocate memory|out of memory/.test(text),
    cure: "free some memory: linking kube-apiserver takes about 3 GB",
  },
];

/** Returns what a person can do about a failed go command; undefined where its output tells us nothing. */
export function cureGoFailure(lines: readonly string[]): string | undefined {
  const text = lines.join("\n");
  return cures.find(({ matches }) => matches(text))?.cure;
}

/** Says whether running the same go command again may help. */
export function isPassing(lines: readonly string[]): boolean {
  const text = lines.join("\n");
  return isNetwork.test(text) && !/checksum mismatch|SECURITY ERROR/.test(text);
}

/** Returns the last lines that tell something: not the packages compiled or modules downloaded. */
export function lastWords(lines: readonly string[], count = 12): string[] {
  return lines.filter((line) => line.trim() !== "" && !/^[\w./~@+{}-]+$|^go: downloading /.test(line)).slice(-count);
}
