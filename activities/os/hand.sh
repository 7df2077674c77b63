#!/bin/sh
# Runs one order on a node and prints its result on stdout as one line of JSON. The script runs in its own container with
# the programs of the container's image. Only the tools of the OS run in the namespaces of the host.
# Usage: hand.sh DRIVER VERB IMAGE DIGEST BOOT-ID NAME UNTIL STALL, with "-" for arguments that the verb does not need.
# UNTIL is in epoch seconds, STALL in seconds. NAME belongs to this order alone and names the systemd units that it creates.
set -u
export LC_ALL=C
driver=$1 verb=$2 image=$3 digest=$4 boot=$5 name=$6 until=$7 stall=$8
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bootid='' booted='' staged='' fallback='' findings=''

. "$here/host.sh"

# say OUTCOME REASON: prints the result; the message comes from stdin.
say() {
  printf '{"outcome":"%s","reason":"%s","message":"%s","bootId":"%s","booted":"%s","staged":"%s","fallback":"%s","findings":[%s]}\n' \
    "$1" "$2" "$(plain)" "$bootid" "$booted" "$staged" "$fallback" "$findings"
}

succeed() { say Done '' </dev/null; exit 0; }
refuse() { printf '%s' "$2" | say Refused "$1"; exit 0; }

# fail WHAT: prints the error of a tool from stdin; the worker derives the reason from its text.
fail() { { printf 'Failed to %s: ' "$1"; cat; } | tail -c 900 | say Failed ''; exit 0; }

# find_ KIND STOPS MESSAGE: adds a finding; with STOPS true, it stops the update.
find_() { findings="$findings${findings:+,}{\"kind\":\"$1\",\"stops\":$2,\"message\":\"$(printf '%s' "$3" | tail -c 300 | plain)\"}"; }

# field PATH: prints a value of the status that was read last.
field() { awk -F '\t' -v path="$1" '$1 == path { print $2; exit }' "$work/status"; }

# read_json PROGRAM…: stores the JSON of a program for `field`.
read_json() {
  host "$@" >"$work/document" 2>"$work/errors" || fail "run $1 status" <"$work/errors"
  awk -f "$here/json.awk" "$work/document" >"$work/status" || fail "read the status of $1" <"$work/document"
}

# order_boot PROGRAM…: boots in 10 s, so that the result is reported before. A repeated order does not boot again.
order_boot() {
  has_systemd || succeed_then "$@"
  host systemctl is-active --quiet "$name.timer" && succeed
  host systemd-run --quiet --collect --unit="$name" --on-active=10s --timer-property=AccuracySec=1s -- "$@" \
    >"$work/out" 2>&1 || fail "order the boot" <"$work/out"
  succeed
}

# Without systemd nothing can boot the node later, so the result is printed first and the boot follows at once.
succeed_then() {
  say Done '' </dev/null
  host "$@" >&2 || host reboot >&2
  exit 0
}

. "$here/pull.sh"
. "$here/check.sh"
case $driver in
  bootc | rpm-ostree | ostree) . "$here/$driver.sh" ;;
  *) refuse DriverMissing "driver '$driver' is not supported" ;;
esac

host "$driver" --version >/dev/null 2>"$work/errors" || refuse DriverMissing "the host does not have $driver: $(cat "$work/errors")"
bootid=$(host cat /proc/sys/kernel/random/boot_id 2>"$work/errors") || fail "read the boot id" <"$work/errors"
read_status

case $verb in
  Status) succeed ;;
  Check)
    look_for_findings
    succeed
    ;;
  Stage)
    if [ "$staged" = "$digest" ]; then succeed; fi
    if [ "$booted" = "$digest" ]; then
      if [ -n "$staged" ]; then drop_staged; fi
    else
      stage
    fi
    read_status
    [ "$staged" = "$digest" ] || [ "$booted" = "$digest" ] || refuse DriverFailed "$driver reported success, but the staged image is '$staged'"
    succeed
    ;;
  Apply | GoBack)
    # The node has booted since the caller read its boot id, because of this order or another one.
    if [ "$bootid" != "$boot" ]; then succeed; fi
    # A pod that started late has no waiting caller; a caller that repeats the order reads the boot id first.
    if [ "$(date +%s)" -gt "$until" ]; then refuse DriverFailed 'the order started after its deadline'; fi
    ;;
  *) refuse DriverFailed "verb '$verb' is not supported" ;;
esac

if [ "$verb" = Apply ]; then
  if [ "$booted" = "$digest" ] && [ -z "$staged" ]; then succeed; fi
  [ "$staged" = "$digest" ] || refuse NotStaged "the staged image is '$staged', not '$digest'"
  apply
else
  [ -n "$fallback" ] || refuse NothingToGoBackTo "the only deployment is '$booted'"
  go_back
fi
