#!/bin/sh
# Carries out one order on a node, and says in one line of JSON on stdout what came of it: in its own container, with the
# programs of the container's image, while the tools of the OS, and they alone, run in the namespaces of the host.
# hand.sh DRIVER VERB IMAGE DIGEST BOOT-ID NAME UNTIL STALL: "-" for what the verb does not need; UNTIL in epoch seconds,
# STALL in seconds. NAME is of this order alone, and of the units of systemd that it makes.
set -u
export LC_ALL=C
driver=$1 verb=$2 image=$3 digest=$4 boot=$5 name=$6 until=$7 stall=$8
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bootid='' booted='' staged='' fallback='' findings=''

host() { nsenter -t 1 -m -u -i -n -- "$@"; }

# Of what a program said the end, as what stands between quotes in JSON.
plain() { tail -c 900 | tr '\n\t' '  ' | tr -cd '\40-\176' | tr '"\134' "'/"; }

# say OUTCOME REASON: what went wrong is read from stdin.
say() {
  printf '{"outcome":"%s","reason":"%s","message":"%s","bootId":"%s","booted":"%s","staged":"%s","fallback":"%s","findings":[%s]}\n' \
    "$1" "$2" "$(plain)" "$bootid" "$booted" "$staged" "$fallback" "$findings"
}

succeed() { say Done '' </dev/null; exit 0; }
refuse() { printf '%s' "$2" | say Refused "$1"; exit 0; }

# fail WHAT: a tool said on stdin why not; whoever reads it sorts it.
fail() { { printf 'Cannot %s: ' "$1"; cat; } | tail -c 900 | say Failed ''; exit 0; }

# find KIND STOPS MESSAGE
find_() { findings="$findings${findings:+,}{\"kind\":\"$1\",\"stops\":$2,\"message\":\"$(printf '%s' "$3" | tail -c 300 | plain)\"}"; }

# field PATH: of the status that was read last.
field() { awk -F '\t' -v path="$1" '$1 == path { print $2; exit }' "$work/status"; }

# read_json PROGRAM…: its document becomes what `field` looks at.
read_json() {
  host "$@" >"$work/document" 2>"$work/errors" || fail "run $1 status" <"$work/errors"
  awk -f "$here/json.awk" "$work/document" >"$work/status" || fail "read the status of $1" <"$work/document"
}

has_systemd() { host systemctl --version >/dev/null 2>&1 && host test -d /run/systemd/system; }

# order_boot PROGRAM…: in ten seconds, so that what is said here is heard before. What was ordered once is not ordered again.
order_boot() {
  has_systemd || succeed_then "$@"
  host systemctl is-active --quiet "$name.timer" && succeed
  host systemd-run --quiet --collect --unit="$name" --on-active=10s --timer-property=AccuracySec=1s -- "$@" \
    >"$work/out" 2>&1 || fail "order the boot" <"$work/out"
  succeed
}

# Without systemd there is nobody who would do it later.
succeed_then() {
  say Done '' </dev/null
  host "$@" >&2 || host reboot >&2
  exit 0
}

. "$here/pull.sh"
. "$here/check.sh"
case $driver in
  bootc | rpm-ostree | ostree) . "$here/$driver.sh" ;;
  *) refuse DriverMissing "there is no driver $driver" ;;
esac

host "$driver" --version >/dev/null 2>"$work/errors" || refuse DriverMissing "the host has no $driver: $(cat "$work/errors")"
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
    [ "$staged" = "$digest" ] || [ "$booted" = "$digest" ] || refuse DriverFailed "$driver said that all went well, and staged '$staged'"
    succeed
    ;;
  Apply | GoBack)
    # It has been booted since: by this order, or by somebody else.
    if [ "$bootid" != "$boot" ]; then succeed; fi
    # A pod that began late: nobody waits for it any more, and who asks again looks first.
    if [ "$(date +%s)" -gt "$until" ]; then refuse DriverFailed 'the order began when its time was over'; fi
    ;;
  *) refuse DriverFailed "there is no verb $verb" ;;
esac

if [ "$verb" = Apply ]; then
  if [ "$booted" = "$digest" ] && [ -z "$staged" ]; then succeed; fi
  [ "$staged" = "$digest" ] || refuse NotStaged "the next boot brings '$staged', not '$digest'"
  apply
else
  [ -n "$fallback" ] || refuse NothingToGoBackTo "there is no other deployment than '$booted'"
  go_back
fi
