# Fetches images, and checks for progress. The fetch is a unit of the host's systemd, so that it outlives its pod:
# another pod with the same order finds it by its name. The unit remains after its end (no --collect) until its result
# was read.

# mark: prints a value that changes with the progress of the fetch; each driver defines $stores.
mark() {
  # shellcheck disable=SC2086 # several folders
  host du -sk $stores 2>/dev/null
  "$1" | cksum
}

# watch_pull OUTPUT STOP STATE: waits until STATE no longer prints "running".
watch_pull() {
  last='' changed=$(date +%s)
  while [ "$("$3")" = running ]; do
    now=$(mark "$1")
    if [ "$now" != "$last" ]; then
      last=$now changed=$(date +%s)
    elif [ $(($(date +%s) - changed)) -ge "$stall" ]; then
      "$2"
      refuse PullStalled "no data arrived for $stall s; last output: $("$1" | tail -c 300)"
    fi
    sleep 5
  done
}

unit_stop() {
  unit_output >"$work/said"
  cancel_pull
  unit_forget
}

# Ends fetches of abandoned orders: two at once would block each other, or the wrong one would be staged last.
end_other_pulls() {
  for unit in $(host systemctl list-units --all --plain --no-legend 'ostler-stage-*.service' 2>/dev/null | awk '{ print $1 }'); do
    if [ "$unit" != "$name.service" ]; then
      cancel_pull
      host systemctl stop "$unit" >/dev/null 2>&1
      host systemctl reset-failed "$unit" >/dev/null 2>&1
    fi
  done
}

pull_as_unit() {
  case $(unit_state) in
    running | exited | failed) ;; # a previous pod of this order started the unit
    *)
      end_other_pulls
      host systemd-run --quiet --unit="$name" --property=RemainAfterExit=yes -- "$@" >"$work/out" 2>&1 ||
        fail "start the fetch" <"$work/out"
      ;;
  esac
  watch_pull unit_output unit_stop unit_state
  ended=$(unit_state)
  unit_output >"$work/out"
  unit_forget
  [ "$ended" = exited ] || fail "fetch $image@$digest" <"$work/out"
}

here_output() { cat "$work/out"; }
here_state() { if kill -0 "$pid" 2>/dev/null; then echo running; fi; }
here_stop() {
  cancel_pull
  kill "$pid"
}

pull_here() {
  host "$@" >"$work/out" 2>&1 &
  pid=$!
  watch_pull here_output here_stop here_state
  wait "$pid" || fail "fetch $image@$digest" <"$work/out"
}

# pull PROGRAM…
pull() { if has_systemd; then pull_as_unit "$@"; else pull_here "$@"; fi; }

# Drivers whose tool fetches in another process, such as a daemon, define this anew.
cancel_pull() { :; }
