# Downloads one file and verifies it; runs on the host, under the lock /var/lib/ostler/kubernetes/lock.
# Usage: fetch_file.sh FILE PART HASH URL STALL. PART keeps an unfinished download, and STALL is in seconds.
# Exit code 65: the content has another hash. All other exit codes are those of curl or the shell.
file=$1 part=$2 hash=$3 url=$4 stall=$5
umask 077
# At most 1 GiB, in blocks of 512 bytes: a response that never ends must not fill the disk.
ulimit -f 2097152
case $url in https:*) redirects='=https' ;; *) redirects='=http,https' ;; esac

verify() {
  found=$(sha256sum <"$part") || exit 1
  found=sha256:${found%% *}
  [ "$found" = "$hash" ]
}

tried=''
while :; do
  resumed=''
  if [ -s "$part" ]; then resumed=1; fi
  curl -q --silent --show-error --fail --globoff --location --max-redirs 5 --proto '=http,https' \
    --proto-redir "$redirects" --connect-timeout 30 --speed-limit 1000 --speed-time "$stall" --continue-at - \
    --output "$part" --url "$url"
  code=$?
  if [ "$code" = 0 ] && verify; then break; fi
  # The bytes remain for the next attempt only if the connection failed.
  case $code in 6 | 7 | 18 | 28 | 35 | 52 | 55 | 56 | 92) exit "$code" ;; esac
  rm -f "$part"
  # Resumed bytes may be those of another file, so the file is fetched once more as a whole.
  if [ -n "$resumed" ] && [ -z "$tried" ]; then
    tried=1
    continue
  fi
  if [ "$code" != 0 ]; then exit "$code"; fi
  echo "it has $found, not $hash"
  exit 65
done
chmod 755 "$part" && mv -f "$part" "$file"
