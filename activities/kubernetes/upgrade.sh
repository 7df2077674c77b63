#!/bin/sh
# Runs one order of an upgrade of Kubernetes on a control plane and prints its result on stdout as one line of JSON. The
# script runs in its own container; only the host's tools and the fetched components run in the namespaces of the host.
# Usage: upgrade.sh VERB VERSION NAME UNTIL STALL COMPONENT…, each COMPONENT with the words PATH HASH URL; Renew has none.
# UNTIL is in epoch seconds, STALL in seconds. NAME belongs to this order alone and names the systemd unit that it creates.
set -u
export LC_ALL=C
verb=$1 version=$2 name=$3 until=$4 stall=$5
shift 5
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '%s\n' "$@" >"$work/components"
# The host's folder of components: by hash, so that a file there can only have one content. Only root may enter it.
store=/var/lib/ostler/kubernetes
# Flags of kubeadm that the administrator of this machine chose, such as preflight errors to ignore: kubeadm does not
# remember the flags of `init` and `join` for an upgrade, and this script does not ignore errors by itself.
settings=/etc/kubernetes/kubeadm-upgrade.yaml
# The static pods of kubeadm, and the folders in which its packages, this script and Constellation install kubeadm.
manifests=/etc/kubernetes/manifests
folders='/opt/bin /run/state/bin /usr/local/bin /usr/bin'
# Exit code of flock when another order has the lock.
busy=200

. "$here/host.sh"

# say OUTCOME REASON: prints the result; the message comes from stdin.
say() { printf '{"outcome":"%s","reason":"%s","message":"%s"}\n' "$1" "$2" "$(plain)"; }

# succeed MESSAGE
succeed() { printf '%s' "$1" | say Done ''; exit 0; }
# refuse REASON MESSAGE
refuse() { printf '%s' "$2" | say Refused "$1"; exit 0; }
# fail REASON WHAT: prints the error of a tool from stdin.
fail() { { printf 'Failed to %s: ' "$2"; cat; } | tail -c 900 | say Refused "$1"; exit 0; }

hash_of() { host sha256sum "$1" 2>/dev/null | awk '{ print "sha256:" $1; exit }'; }
# fetched_at PATH HASH: prints the file in the store.
fetched_at() { printf '%s/%s/%s' "$store" "${2#sha256:}" "${1##*/}"; }

# find_component PROGRAM: sets path, hash, url and file (in the store) of a program.
find_component() {
  path='' hash='' url='' file=''
  while IFS=' ' read -r path hash url <&3; do
    [ "${path##*/}" = "$1" ] || continue
    file=$(fetched_at "$path" "$hash")
    return 0
  done 3<"$work/components"
  refuse NotFetched "the components do not include $1"
}

# need_fetched PROGRAM: as find_component, and refuses unless the store has the file with this hash.
need_fetched() {
  find_component "$1"
  [ "$(hash_of "$file")" = "$hash" ] || refuse NotFetched "$1 $version is not on this node; expected $file with $hash"
}

need_tools() {
  for tool in "$@"; do
    host sh -c 'command -v "$1" >/dev/null' sh "$tool" </dev/null || refuse ToolMissing "the host does not have $tool"
  done
}

# fetch: downloads the component of path, hash and url, unless the store has it. Files in it were verified before they got
# their name and became executable, all under the lock.
fetch() {
  file=$(fetched_at "$path" "$hash")
  if [ "$(hash_of "$file")" = "$hash" ]; then return 0; fi
  host mkdir -p -m 700 "$store" "${file%/*}" 2>"$work/errors" || fail DownloadFailed "create $store" <"$work/errors"
  tries=0
  while :; do
    host flock -n -E "$busy" "$store/lock" sh -c "$(cat "$here/fetch_file.sh")" fetch_file.sh \
      "$file" "${file%/*}.part" "$hash" "$url" "$stall" </dev/null >"$work/out" 2>&1
    code=$?
    case $code in
      0) return 0 ;;
      "$busy") ;; # another order downloads or upgrades
      65) fail HashMismatch "verify ${path##*/} from $url" <"$work/out" ;;
      *)
        tries=$((tries + 1))
        [ "$tries" -lt 3 ] || fail DownloadFailed "download $url" <"$work/out"
        ;;
    esac
    sleep 5
  done
}

# check_version PROGRAM ARGUMENT…: refuses a program whose own version, printed with the arguments, is another one.
check_version() {
  find_component "$1"
  shift
  said=$(host timeout 60 "$file" "$@" </dev/null 2>&1) || refuse NotFetched "$file does not run on this node: $said"
  case $said in
    "$version" | "Kubernetes $version") ;;
    *) refuse HashMismatch "the components contain ${path##*/} of version '$said', not $version" ;;
  esac
}

# clean_up: removes downloads of other versions, and unfinished ones, from the store.
clean_up() {
  for each in $(host ls -1 "$store" </dev/null 2>/dev/null | grep -E '^[0-9a-f]{64}(\.part)?$'); do
    if ! grep -q " sha256:${each%.part} " "$work/components" || [ "$each" != "${each%.part}" ]; then
      host rm -rf "$store/$each"
    fi
  done
}

# run_unit SCRIPT ARGUMENT…: runs a script on the host under the lock, as a unit that outlives this pod and the kubelet;
# another pod with the same order finds it by its name. Leaves its output in $work/out, and its exit code in code.
run_unit() {
  script=$1
  shift
  while :; do
    case $(unit_state) in
      dead | '')
        if [ "$(date +%s)" -gt "$until" ]; then refuse "$failed" 'the order started after its deadline'; fi
        put_script "$script"
        refuse_stranger
        host systemd-run --quiet --unit="$name" --description="$verb of Kubernetes $version" \
          --property=RemainAfterExit=yes --setenv=PATH="$search" -- \
          flock -n -E "$busy" "$store/lock" sh "$store/$script" "$@" >"$work/out" 2>&1 </dev/null ||
          fail "$failed" "start $script" <"$work/out"
        ;;
    esac
    while :; do
      ended=$(unit_state)
      case $ended in exited | failed | dead) break ;; esac
      sleep 2
    done
    code=$(host systemctl show -p ExecMainStatus --value "$name.service" 2>/dev/null)
    unit_output >"$work/out"
    unit_forget
    # systemd forgets a unit that was stopped, and then shows exit code 0.
    case $ended in
      exited) code=0 ;;
      dead) code='' ;;
    esac
    if [ "$code" != "$busy" ]; then return 0; fi
    sleep 5
  done
}

# put_script SCRIPT: copies a script to the store in one step. The script is not an argument of the unit, because
# systemd would expand variables in it.
put_script() {
  host mkdir -p -m 700 "$store" &&
    host sh -c 'umask 077; cat >"$1" && mv -f "$1" "$2"' sh "$store/$name.new" "$store/$1" <"$here/$1" ||
    refuse "$failed" "Failed to write $store/$1"
}

# search_in FOLDER: sets the search path of a unit.
search_in() { search="$1:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"; }

# refuse_stranger: refuses while a person runs kubeadm, which does not take the lock: two kubeadm would write the same
# files. Repeats the checks, because an order of Ostler may end between them.
refuse_stranger() {
  for _ in 1 2 3; do
    host flock -n -E "$busy" "$store/lock" true </dev/null
    if [ "$?" = "$busy" ]; then return 0; fi
    host sh -c 'cat /proc/[0-9]*/comm 2>/dev/null' </dev/null | grep -qx kubeadm || return 0
    sleep 2
  done
  refuse KubeadmRefused 'another kubeadm runs on this node; wait until it has ended'
}

# run_kubeadm MARK ARGUMENT…: runs the verified kubeadm; the mark survives a crash of the machine.
run_kubeadm() {
  mark=$1
  shift
  need_fetched kubeadm
  if host test -e "$settings"; then set -- "$@" --config "$settings"; fi
  search_in "${path%/*}"
  run_unit run_kubeadm.sh "$file" "$hash" "$store" "$mark" "$@"
  case $code in
    0) ;;
    65) fail HashMismatch 'verify kubeadm' <"$work/out" ;;
    *) fail KubeadmRefused "run kubeadm $1 $2, which ended with exit code ${code:-unknown}" <"$work/out" ;;
  esac
}

# are_current: succeeds if the manifests of this control plane have images of the version.
are_current() {
  for each in kube-apiserver kube-controller-manager kube-scheduler; do
    host cat "$manifests/$each.yaml" </dev/null 2>/dev/null | awk -v tag=":$version" '
      { sub(/^ *- /, "") }
      $1 == "image:" { image = $2; gsub(/"/, "", image); sub(/@.*/, "", image) }
      END { exit substr(image, length(image) - length(tag) + 1) == tag ? 0 : 1 }' || return 1
  done
}

mark_of() { host cat "$store/$1" </dev/null 2>/dev/null; }

# swap_kubelet: replaces the kubelet, and the other programs of the components.
swap_kubelet() {
  need_fetched kubelet
  set -- "$path" "$hash" "$file"
  search_in "${path%/*}"
  while IFS=' ' read -r path hash url <&3; do
    if [ "$path" = "$1" ]; then continue; fi
    file=$(fetched_at "$path" "$hash")
    [ "$(hash_of "$file")" = "$hash" ] || refuse NotFetched "${path##*/} $version is not on this node; expected $file with $hash"
    set -- "$@" "$path" "$hash" "$file"
  done 3<"$work/components"
  run_unit swap_kubelet.sh /proc /var/lib/kubelet/config.yaml "$stall" "$@"
  case $code in
    0) ;;
    65) fail HashMismatch 'verify a component' <"$work/out" ;;
    *) fail KubeletFailed 'replace the kubelet' <"$work/out" ;;
  esac
}

# find_kubeadm: sets file to an installed kubeadm of the version, or else of another patch version of the same minor version.
find_kubeadm() {
  for like in "$version" "${version%.*}.*"; do
    for folder in $folders; do
      file=$folder/kubeadm
      said=$(host timeout 60 "$file" version -o short </dev/null 2>/dev/null)
      # shellcheck disable=SC2254 # a pattern
      case $said in $like) return 0 ;; esac
    done
  done
  refuse ToolMissing "the host does not have a kubeadm of ${version%.*} in one of: $folders"
}

# need_authorities: refuses if the key of an authority is not on this node, because kubeadm could not sign with it. Sets
# pki, the folder of the certificates.
need_authorities() {
  authorities='ca front-proxy-ca'
  if host test -e "$manifests/etcd.yaml"; then authorities="$authorities etcd/ca"; fi
  pki=$(host sed -n 's,^ *- --client-ca-file=\(.*\)/ca\.crt$,\1,p' "$manifests/kube-apiserver.yaml" </dev/null 2>/dev/null)
  pki=${pki:-/etc/kubernetes/pki}
  for each in $authorities; do
    each=$pki/$each.key
    host test -e "$each" ||
      refuse AuthorityExternal "this node does not have $each, so kubeadm cannot renew certificates here"
  done
}

# renew: renews the certificates of kubeadm, and restarts the static pods that use them.
renew() {
  for each in kube-apiserver kube-controller-manager kube-scheduler; do
    host test -e "$manifests/$each.yaml" ||
      refuse KubeadmRefused "this node does not have $manifests/$each.yaml, so kubeadm did not create its control plane"
  done
  need_tools awk find
  need_authorities
  find_kubeadm
  search_in "${file%/*}"
  if [ "$pki" = /etc/kubernetes/pki ]; then pki=''; fi
  run_unit renew_certificates.sh "$file" "$store" "$manifests" /var/log/pods $((stall * 3)) \
    "$pki" /var/lib/kubelet/config.yaml
  case $code in
    0) ;;
    62) fail AuthorityExternal 'renew all certificates' <"$work/out" ;;
    65) fail KubeadmRefused 'renew certificates' <"$work/out" ;;
    61 | 64) fail RestartFailed 'restart the static pods' <"$work/out" ;;
    *) fail KubeadmRefused "renew certificates, which ended with exit code ${code:-unknown}" <"$work/out" ;;
  esac
}

has_systemd || refuse ToolMissing 'the host does not have systemd'
need_tools curl flock sha256sum timeout
failed=KubeadmRefused

case $verb in
  Plan)
    find_component kubeadm
    fetch
    check_version kubeadm version -o short
    run_kubeadm - upgrade plan "$version"
    succeed "$(tail -c 900 "$work/out")"
    ;;
  Fetch)
    while IFS=' ' read -r path hash url <&4; do fetch; done 4<"$work/components"
    check_version kubeadm version -o short
    check_version kubelet --version
    clean_up
    succeed "$version is on this node"
    ;;
  Apply | Node)
    mark="$verb $version $name"
    # If "upgrade apply" began here without completing, as after a crash, the configuration in the cluster may be
    # incomplete, so that "upgrade node" does not suffice.
    case $(mark_of begun) in "Apply $version "*) mark="Apply $version $name" ;; esac
    case $(mark_of 'done') in
      "$mark") if are_current; then succeed "this node runs $version already"; fi ;;
      *" $version "*) if [ "${mark%% *}" = Node ] && are_current; then succeed "this node runs $version already"; fi ;;
    esac
    if [ "${mark%% *}" = Apply ]; then
      run_kubeadm "$mark" upgrade apply "$version" --yes
    else
      run_kubeadm "$mark" upgrade node
    fi
    are_current || refuse KubeadmRefused "kubeadm reported success, but the manifests are not of $version"
    succeed "kubeadm upgraded this node to $version"
    ;;
  Kubelet)
    failed=KubeletFailed
    swap_kubelet
    succeed "kubelet $version runs"
    ;;
  Renew)
    renew
    succeed 'the certificates of kubeadm are new, and the static pods that use them were restarted'
    ;;
  *) refuse ToolMissing "verb '$verb' is not supported" ;;
esac
