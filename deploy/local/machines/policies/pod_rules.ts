/** Translates NetworkPolicies into iptables rules for the pod traffic of a machine. */
import type { V1NetworkPolicyPeer, V1NetworkPolicyPort, V1Pod } from "@kubernetes/client-node";
import { type AddressedPod, addressedPods, type ClusterView, isChosen, type NetworkPolicy } from "./cluster_view.ts";

/** The iptables chain for all pod traffic that a machine forwards or receives. */
export const policyChain = "POD-POLICY";
/** The rejection of forbidden traffic, which clients can distinguish from a timeout and from a closed port. */
const forbidden = "-j REJECT --reject-with icmp-admin-prohibited";

const directions = ["Egress", "Ingress"] as const;
type Direction = typeof directions[number];
interface Allowance {
  peers?: V1NetworkPolicyPeer[] | undefined;
  ports?: V1NetworkPolicyPort[] | undefined;
}

/** Returns the input of `iptables-restore --noflush` for the pods in a machine's range, which is applied atomically. */
export function podRules(view: ClusterView, subnet: string): string {
  const machine = { subnet, pods: addressedPods(view).filter(({ address }) => contains(subnet, address)) };
  const chains = directions.flatMap((direction) => chainsOf(view, machine, direction));
  const names = [policyChain, ...chains.map(({ name }) => name)];
  const judge = [
    "-i lo -j RETURN",
    "-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN",
    ...directions.map((direction) => `-j ${nameOf(direction)}`),
  ];
  const all = [{ name: policyChain, rules: judge }, ...chains];
  const rules = all.flatMap(({ name, rules }) => rules.map((rule) => `-A ${name} ${rule}`));
  return ["*filter", ...names.map((name) => `:${name} - [0:0]`), ...rules, "COMMIT", ""].join("\n");
}

interface Machine {
  /** Pod address range of the machine. */
  subnet: string;
  pods: readonly AddressedPod[];
}

interface Chain {
  name: string;
  rules: string[];
}

// The chain of a direction passes the traffic of an isolated pod to the pod's own chain, which ends with RETURN for
// allowed traffic and rejects all other traffic.
function chainsOf(view: ClusterView, { subnet, pods }: Machine, direction: Direction): Chain[] {
  const flag = direction === "Egress" ? "-s" : "-d";
  const own = pods.flatMap(({ pod, address }) => {
    const allowances = allowancesOf(view, pod, direction);
    if (allowances === undefined) return [];
    const rules = allowances.flatMap((allowance) => rulesOf(view, { pod, ...allowance }, direction));
    return [{ address, name: nameOf(direction, address), rules: [...new Set(rules), forbidden] }];
  });
  const isolated = own.map(({ address, name }) => `${flag} ${address} -g ${name}`);
  // The machine's own address in the range does not belong to a pod, so traffic to it is allowed.
  const itself = direction === "Ingress" ? ["-m addrtype --dst-type LOCAL -j RETURN"] : [];
  const free = pods.map(({ address }) => `${flag} ${address} -j RETURN`);
  // Traffic of unknown pods is dropped without a response: clients send again, and succeed once the pod is known.
  return [...own, { name: nameOf(direction), rules: [...itself, ...isolated, ...free, `${flag} ${subnet} -j DROP`] }];
}

/** Returns what policies allow a pod in one direction; undefined if no policy isolates it. */
function allowancesOf(view: ClusterView, pod: V1Pod, direction: Direction): Allowance[] | undefined {
  const selected = view.policies.filter(({ metadata, spec }) =>
    spec !== undefined && typesOf(spec).includes(direction) &&
    isChosen(view, pod, { podSelector: spec.podSelector ?? {}, namespace: metadata?.namespace ?? "" })
  );
  if (selected.length === 0) return undefined;
  return selected.flatMap(({ spec }) =>
    direction === "Egress"
      ? (spec?.egress ?? []).map(({ to, ports }) => ({ peers: to, ports }))
      : (spec?.ingress ?? []).map(({ from, ports }) => ({ peers: from, ports }))
  );
}

function typesOf({ policyTypes, egress }: NonNullable<NetworkPolicy["spec"]>): string[] {
  return policyTypes ?? (egress ? ["Ingress", "Egress"] : ["Ingress"]);
}

function rulesOf(view: ClusterView, { pod, peers, ports }: Allowance & { pod: V1Pod }, direction: Direction): string[] {
  const flag = direction === "Egress" ? "-d" : "-s";
  const namespace = pod.metadata?.namespace ?? "";
  const places = peers?.length ? peers.flatMap((peer) => placesOf(view, peer, namespace)) : [{ range: "0.0.0.0/0" }];
  return places.flatMap(({ range, pod: peer }) =>
    matchesOf(ports, direction === "Egress" ? peer : pod).map((match) => `${flag} ${range}${match} -j RETURN`)
  );
}

function placesOf(view: ClusterView, peer: V1NetworkPolicyPeer, namespace: string): { range: string; pod?: V1Pod }[] {
  if (peer.ipBlock) return without(peer.ipBlock.cidr, peer.ipBlock.except ?? []).map((range) => ({ range }));
  return addressedPods(view)
    .filter(({ pod }) => isChosen(view, pod, { ...peer, namespace }))
    .map(({ pod, address }) => ({ range: `${address}/32`, pod }));
}

/**
 * Returns iptables matches for ports; a named port is looked up in `called`, the pod that receives the traffic, and
 * matches nothing if this pod is unknown or has no port of that name.
 */
function matchesOf(ports: V1NetworkPolicyPort[] | undefined, called: V1Pod | undefined): string[] {
  if (!ports?.length) return [""];
  return ports.flatMap(({ port, endPort, protocol = "TCP" }) => {
    const number = typeof port === "string" ? portNamed(called, port) : port;
    if (number === undefined) return port === undefined ? [` -p ${protocol.toLowerCase()}`] : [];
    return [` -p ${protocol.toLowerCase()} --dport ${number}${endPort === undefined ? "" : `:${endPort}`}`];
  });
}

function portNamed(pod: V1Pod | undefined, wanted: string): number | undefined {
  const ports = pod?.spec?.containers.flatMap(({ ports = [] }) => ports) ?? [];
  return ports.find(({ name }) => name === wanted)?.containerPort;
}

// Chain names of iptables have at most 28 characters.
function nameOf(direction: Direction, address?: string): string {
  return `POD-${direction.toUpperCase()}${address === undefined ? "" : `-${address}`}`;
}

// Ranges of IPv4 addresses in CIDR notation, such as "10.0.0.0/8".

/** Returns the ranges that together cover `range` without the excepted ranges, in the order of their addresses. */
function without(range: string, excepts: readonly string[]): string[] {
  const [except, ...others] = excepts;
  if (except === undefined) return [range];
  return minus(range, except).flatMap((rest) => without(rest, others));
}

function minus(range: string, except: string): string[] {
  if (contains(except, range)) return [];
  if (!contains(range, except)) return [range];
  return halves(range).flatMap((half) => minus(half, except));
}

/** Returns whether a range is completely within another. */
function contains(outer: string, inner: string): boolean {
  const [wide, narrow] = [parsed(outer), parsed(inner)];
  const size = 2 ** (32 - wide.bits);
  return wide.bits <= narrow.bits && Math.floor(wide.start / size) === Math.floor(narrow.start / size);
}

function halves(range: string): string[] {
  const { start, bits } = parsed(range);
  const first = start - start % 2 ** (32 - bits);
  return [first, first + 2 ** (31 - bits)].map((at) => `${text(at)}/${bits + 1}`);
}

function parsed(range: string): { start: number; bits: number } {
  const [address = "", bits = "32"] = range.split("/");
  const start = address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  return { start, bits: Number(bits) };
}

function text(start: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(start / 2 ** shift) % 256).join(".");
}
