# ostree alone: commits of a remote, whose name replaces the image. Staging fetches a commit and keeps it by a ref; the
# commit is deployed only when its boot is ordered, so that no other boot activates it, and /etc is merged at that time.
stores='/sysroot/ostree/repo/tmp'
repo=/sysroot/ostree/repo
kept=ostler/staged

read_status() {
  host ostree admin status >"$work/deployments" 2>"$work/errors" || fail 'run ostree admin status' <"$work/errors"
  # Format of a deployment: "* os checksum.serial" for the booted one, a blank instead of the star for all others.
  awk '
    { isBooted = $1 == "*"; os = isBooted ? $2 : $1; split(isBooted ? $3 : $2, part, ".") }
    length(part[1]) == 64 && part[1] ~ /^[0-9a-f]+$/ && part[2] ~ /^[0-9]+$/ {
      print (isBooted ? "booted" : seen ? "after" : "before"), os, part[1], place++
      if (isBooted) seen = 1
    }' "$work/deployments" >"$work/status"
  os=$(awk '$1 == "booted" { print $2 }' "$work/status")
  [ -n "$os" ] || refuse DriverMissing 'ostree did not boot this system'
  booted=sha256:$(awk '$1 == "booted" { print $3 }' "$work/status")
  pending=$(awk -v os="$os" '$1 == "before" && $2 == os { print "sha256:" $3; exit }' "$work/status")
  pending_at=$(awk -v os="$os" '$1 == "before" && $2 == os { print $4 + 0; exit }' "$work/status")
  # A deployment of the booted commit is not a rollback target.
  fallback=$(awk -v os="$os" -v booted="${booted#sha256:}" '$1 == "after" && $2 == os && $3 != booted { print "sha256:" $3; exit }' "$work/status")
  staged=$pending
  fetched=$(host ostree --repo=$repo rev-parse "$kept" 2>/dev/null) || fetched=''
  if [ -z "$staged" ] && [ -n "$fetched" ]; then staged=sha256:$fetched; fi
  # An earlier pod of an order to go back has deployed the fallback already, and ostree then lists it only as the next
  # deployment. A staged commit has a ref.
  if [ -z "$fallback$fetched" ] && [ "$pending" = "$digest" ]; then fallback=$pending; fi
  if [ "$staged" = "$booted" ]; then staged=''; fi
}

stage() {
  pull ostree --repo=$repo pull "$image" "${digest#sha256:}"
  # ostree deletes commits without a ref during an undeploy.
  host ostree --repo=$repo refs --delete "$kept" >"$work/out" 2>&1 || fail 'drop the staged commit' <"$work/out"
  host ostree --repo=$repo refs --create="$kept" "${digest#sha256:}" >"$work/out" 2>&1 || fail 'keep the fetched commit' <"$work/out"
  undeploy_pending
}

# Also drops a deployment that did not boot: a boot loader that counts boots leaves it first in the list.
drop_staged() {
  host ostree --repo=$repo refs --delete "$kept" >"$work/out" 2>&1 || fail 'drop the staged commit' <"$work/out"
  undeploy_pending
}

undeploy_pending() {
  [ -n "$pending" ] || return 0
  host ostree admin undeploy "$pending_at" >"$work/out" 2>&1 || fail "undeploy $pending" <"$work/out"
  pending=''
}

apply() { boot_into "$digest"; }

go_back() {
  [ "$pending" = "$fallback" ] || drop_staged
  boot_into "$fallback"
}

boot_into() {
  if [ "$pending" != "$1" ]; then
    host ostree admin deploy --os="$os" "${1#sha256:}" >"$work/out" 2>&1 || fail "deploy $1" <"$work/out"
  fi
  order_boot systemctl reboot
}

look_at_driver() { :; }
