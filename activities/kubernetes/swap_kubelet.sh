# Replaces the kubelet and restarts it, and restores the previous one if the new one does not come up. Runs as a unit of
# the host, because no pod can start without a kubelet. The other programs are replaced first.
# Usage: swap_kubelet.sh PROC CONFIG BOUND (PATH HASH FILE)…, the kubelet's first.
# Exit code 63: kubelet.service runs another program than PATH. 64: the new kubelet did not come up in BOUND seconds.
# 65: a file has another hash. 66: a file could not be written.
proc=$1 config=$2 bound=$3
shift 3
path=$1 hash=$2 file=$3
shift 3
settle=$((bound / 9 + 1))

# setting NAME: prints a setting of the kubelet's configuration; prints nothing if the configuration does not have it.
setting() { sed -n "s/^$1: *[\"']\{0,1\}\([0-9A-Fa-f.:]*\).*/\1/p" "$config" 2>/dev/null; }
port=$(setting healthzPort)
address=$(setting healthzBindAddress)
case $address in
  '' | 0.0.0.0) address=127.0.0.1 ;;
  ::) address='[::1]' ;;
  *:*) address="[$address]" ;;
esac

sum() { found=$(sha256sum <"$1" 2>/dev/null) && printf 'sha256:%s' "${found%% *}"; }
main_pid() { systemctl show -p MainPID --value kubelet.service; }

identity() { stat -L -c %d:%i "$1" 2>/dev/null || echo "no $1"; }
runs() { [ "$(identity "$proc/$1/exe")" = "$(identity "$path")" ]; }

# A host may have a proxy in its environment, which cannot reach the address.
health() { curl -q --silent --globoff --noproxy '*' --max-time 5 "http://$address:${port:-10248}/healthz"; }

# is_up: succeeds if the kubelet at the path runs and is healthy; sets pid.
is_up() {
  pid=$(main_pid)
  [ "${pid:-0}" -gt 0 ] && runs "$pid" || return 1
  [ "$port" = 0 ] || [ "$(health)" = ok ]
}

# comes_up: waits until the same process was up for a while, because systemd restarts a kubelet that crashes. One check
# never suffices, however long it takes.
comes_up() {
  end=$(($(date +%s) + bound)) last='' since=0
  while [ "$(date +%s)" -le "$end" ]; do
    if is_up; then
      if [ "$pid" != "$last" ]; then
        last=$pid since=$(date +%s)
      elif [ $(($(date +%s) - since)) -ge "$settle" ]; then
        return 0
      fi
    else
      last=''
    fi
    sleep 1
  done
  return 1
}

# put_beside FILE HASH PATH: copies a file to the folder of its path, from where it can be renamed.
put_beside() {
  cp "$1" "$3.ostler-new" && chmod 755 "$3.ostler-new" && sync "$3.ostler-new" || exit 66
  if [ "$(sum "$3.ostler-new")" != "$2" ]; then
    rm -f "$3.ostler-new"
    echo "the content of $1 does not have hash $2"
    exit 65
  fi
}

while [ $# -gt 0 ]; do
  if [ "$(sum "$1")" != "$2" ]; then
    mkdir -p "${1%/*}"
    put_beside "$3" "$2" "$1"
    mv -f "$1.ostler-new" "$1" || exit 66
  fi
  shift 3
done

if [ "$(sum "$path")" = "$hash" ]; then
  if is_up && comes_up; then exit 0; fi
else
  pid=$(main_pid)
  if [ "${pid:-0}" -gt 0 ] && ! runs "$pid"; then
    echo "kubelet.service does not run $path, but $(readlink "$proc/$pid/exe")"
    exit 63
  fi
  put_beside "$file" "$hash" "$path"
  ln -f "$path" "$path.ostler-old" || exit 66
  mv -f "$path.ostler-new" "$path" || exit 66
fi

systemctl restart kubelet.service
if comes_up; then exit 0; fi
echo "the new kubelet did not come up in $bound s: $(journalctl -q --no-pager -o cat -n 10 -u kubelet.service | tail -c 500)"
if ! [ -e "$path.ostler-old" ]; then
  echo 'the previous kubelet was not kept, so it cannot be restored'
  exit 64
fi
mv -f "$path.ostler-old" "$path"
systemctl restart kubelet.service
if comes_up; then echo 'the previous kubelet runs again'; else echo 'the previous kubelet did not come up either'; fi
exit 64
