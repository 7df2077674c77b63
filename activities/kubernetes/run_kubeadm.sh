# Verifies the hash of kubeadm and runs it, as a unit of the host, under the lock STORE/lock.
# Usage: run_kubeadm.sh KUBEADM HASH STORE MARK ARGUMENT…. The text MARK is written to STORE/begun before the run, and
# to STORE/done after a successful run. MARK is "-" for a run that changes nothing, and is not written then.
# Exit code 65: kubeadm has another hash. 66: kubeadm cannot be read. 67: the mark could not be written.
kubeadm=$1 hash=$2 store=$3 mark=$4
shift 4
found=$(sha256sum <"$kubeadm") || exit 66
if [ "sha256:${found%% *}" != "$hash" ]; then
  echo "it has sha256:${found%% *}, not $hash"
  exit 65
fi

# put NAME: writes the mark to the file STORE/NAME, in one step.
put() { printf '%s\n' "$mark" >"$store/$1.new" && sync "$store/$1.new" && mv -f "$store/$1.new" "$store/$1"; }

if [ "$mark" != - ]; then put begun || exit 67; fi
# Longer than all waits of kubeadm together: a kubeadm that never ended would keep the lock from every later order.
timeout 3600 "$kubeadm" "$@" </dev/null || exit
if [ "$mark" != - ]; then put 'done' && rm -f "$store/begun"; fi
