# Renews the certificates of kubeadm, and restarts the static pods that use them one after the other. Runs as a unit of
# the host, under the lock STORE/lock. To restart a static pod, the script renames a manifest with another annotation
# over the previous manifest, so that no manifest is missing after a crash. Skips steps that a previous run completed.
# Usage: renew_certificates.sh KUBEADM STORE MANIFESTS LOGS BOUND [PKI [CONFIG]]. PKI is empty for the default folder:
# kubeadm renews certificates in another folder only with --cert-dir, whatever folder its configuration names. CONFIG,
# the configuration of the kubelet, may name another folder of pods' logs than LOGS; earlier versions do not give it.
# Exit code 61: a manifest has another form than kubeadm writes. 62: kubeadm does not have the key of a CA.
# 63: kubeadm failed. 64: a static pod did not come up in BOUND seconds. 66: a file could not be written.
# 65: kubeadm would sign with another CA than that of the API server's certificate.
kubeadm=$1 store=$2 manifests=$3 logs=$4 bound=$5 pki=${6:-} config=${7:-}
own_logs=$(sed -n "s/^podLogsDir: *[\"']\{0,1\}\([^\"' ]*\).*/\1/p" "$config" 2>/dev/null)
logs=${own_logs:-$logs}
key=ostler.dev/certificates-renewed
# Seconds after a renewal in which another order only completes the restarts, for example after a crash.
recent=3600
# The API server comes directly after its etcd, whose restart interrupts it in any case.
parts='kube-controller-manager kube-scheduler etcd kube-apiserver'

# annotated MANIFEST: prints the manifest with the mark; fails for another form than kubeadm's, such as JSON, because a
# kubelet stops the pod of a manifest that it cannot read.
annotated() {
  awk -v key="$key" -v mark="$mark" '
    /^[^ #]/ { block = $1 }
    NR == FNR {
      if (block != "metadata:") next
      if (/^  name: [a-z]/) isKnown = 1
      if (/^  annotations:/) has = $0 == "  annotations:" ? 1 : 2
      next
    }
    block == "metadata:" && index($0, "    " key ":") == 1 { next }
    { print }
    block == "metadata:" && $0 == (has ? "  annotations:" : "metadata:") {
      if (!has) print "  annotations:"
      print "    " key ": \"" mark "\""
      done++
    }
    END { exit isKnown && has != 2 && done == 1 ? 0 : 1 }' "$1" "$1"
}

# put_mark MANIFEST: replaces the manifest in one step. A kubelet ignores files whose name begins with a dot.
put_mark() {
  new="${1%/*}/.${1##*/}.ostler-new"
  cp -p "$1" "$new" && annotated "$1" >"$new" && sync "$new" && mv -f "$new" "$1"
}

# probe_of MANIFEST: prints the URL of the liveness probe in the manifest; prints nothing if it has none.
probe_of() {
  awk '
    { gsub(/["'\'']/, "") }
    /^    [^ -]/ { isProbe = $1 == "livenessProbe:" }
    isProbe && $1 == "host:" { host = $2 }
    isProbe && $1 == "path:" { path = $2 }
    isProbe && $1 == "port:" { port = $2 }
    isProbe && $1 == "scheme:" { scheme = tolower($2) }
    $1 == "-" && $2 == "containerPort:" { number = $3 }
    $1 == "name:" && number != "" { ports[$2] = number; number = "" }
    END {
      if (port in ports) port = ports[port]
      if (host == "") host = "127.0.0.1"
      if (host ~ /:/) host = "[" host "]"
      if (path != "" && port ~ /^[0-9]+$/) print (scheme ? scheme : "http") "://" host ":" port path
    }' "$1"
}

# runs_again PART: succeeds if the kubelet has started a pod of the current manifest, which it does only after the
# previous pod has ended, and that pod answers. A refusal of an anonymous request is an answer. Skips pods such as
# etcd-backup-…, whose UID is from the API server and has hyphens, unlike those of static pods.
runs_again() {
  begun=$(find "$logs/" -maxdepth 1 -type d -name "kube-system_$1-*" ! -name '*_????????-????-????-????-????????????' \
    -newer "$manifests/$1.yaml" 2>/dev/null)
  [ -n "$begun" ] || return 1
  probe=$(probe_of "$manifests/$1.yaml")
  [ -n "$probe" ] || return 0
  code=$(curl -q --insecure --silent --globoff --noproxy '*' --max-time 5 --output /dev/null --write-out '%{http_code}' "$probe")
  case $code in 200 | 401 | 403) ;; *) return 1 ;; esac
}

comes_up() {
  end=$(($(date +%s) + bound))
  while [ "$(date +%s)" -le "$end" ]; do
    if runs_again "$1"; then return 0; fi
    sleep 1
  done
  return 1
}

# is_other_signer: succeeds if the CA with which kubeadm signs, the first one in ca.crt, did not sign the certificate of
# the running API server: during a rotation of the CA, clients do not trust the new one yet. An expired certificate, one
# that kubeadm did not make, and a silent API server prove nothing. The numbers are those of OpenSSL. STORE has no CA
# in the form that --capath reads; without it, curl also trusts the CAs of the host.
is_other_signer() {
  folder=${pki:-/etc/kubernetes/pki} server=$manifests/kube-apiserver.yaml
  grep -qxF "    - --tls-cert-file=$folder/apiserver.crt" "$server" 2>/dev/null || return 1
  probe=$(probe_of "$server")
  [ -n "$probe" ] && awk '{ print } /-END CERTIFICATE-/ { exit }' "$folder/ca.crt" >"$store/signer.crt" || return 1
  result=$(curl -q --silent --globoff --noproxy '*' --max-time 5 --output /dev/null --write-out '%{ssl_verify_result}' \
    --cacert "$store/signer.crt" --capath "$store" "$probe")
  case $result in 7 | 18 | 19 | 20 | 21) return 0 ;; *) return 1 ;; esac
}

now=$(date +%s)
mark=$(cat "$store/renewed" 2>/dev/null)
case $mark in '' | *[!0-9]*) mark=0 ;; esac

for part in $parts; do
  if [ -e "$manifests/$part.yaml" ] && ! annotated "$manifests/$part.yaml" >/dev/null; then
    echo "$manifests/$part.yaml does not have the form that kubeadm writes"
    exit 61
  fi
done

if [ "$mark" -gt "$now" ] || [ $((now - mark)) -gt "$recent" ]; then
  if is_other_signer; then
    echo "the CA in $folder/ca.crt did not sign the certificate of the API server; complete the CA's rotation first"
    exit 65
  fi
  said=$(timeout 600 "$kubeadm" certs renew all ${pki:+--cert-dir "$pki"} </dev/null 2>&1)
  code=$?
  printf '%s\n' "$said"
  if [ "$code" != 0 ]; then exit 63; fi
  # kubeadm reports success even if it could not renew a certificate.
  case $said in *"can't be renewed"*) exit 62 ;; esac
  mark=$now
  printf '%s\n' "$mark" >"$store/renewed.new" && sync "$store/renewed.new" && mv -f "$store/renewed.new" "$store/renewed" ||
    exit 66
fi

for part in $parts; do
  manifest=$manifests/$part.yaml
  # A control plane with an external etcd has no manifest of etcd.
  [ -e "$manifest" ] || continue
  if ! grep -qxF "    $key: \"$mark\"" "$manifest"; then
    put_mark "$manifest" || exit 66
  fi
  if ! comes_up "$part"; then
    echo "$part did not come up again in $bound s"
    exit 64
  fi
done
