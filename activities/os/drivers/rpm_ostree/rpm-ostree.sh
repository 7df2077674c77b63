# rpm-ostree: images of a registry, by digest, also with layered packages. The staged image stays locked, so that only
# the ordered boot activates it.
stores='/sysroot/ostree/repo/tmp'

read_status() {
  read_json rpm-ostree status --json
  # An image that was fetched by the digest of its index is recognized by its reference, as in the driver bootc.
  awk -F '\t' -v ordered="@$digest" '
    function identity(i,    reference) {
      reference = of[i, "container-image-reference"]
      if (substr(reference, length(reference) - length(ordered) + 1) == ordered) return substr(ordered, 2)
      return of[i, "container-image-reference-digest"] != "" ? of[i, "container-image-reference-digest"] : "sha256:" of[i, "checksum"]
    }
    BEGIN { last = booted = -1 }
    {
      split($1, path, ".")
      if (path[1] != "deployments") next
      i = path[2] + 0
      if (i > last) last = i
      key = substr($1, length("deployments." path[2] ".") + 1)
      of[i, key] = $2
      if (key == "booted" && $2 == "true") booted = i
    }
    END {
      if (booted < 0) exit 1
      isQueued = booted > 0 && of[0, "staged"] != "true"
      print "booted=" identity(booted)
      print "staged=" (booted > 0 ? identity(0) : "")
      print "fallback=" (booted < last ? identity(booted + 1) : isQueued ? identity(0) : "")
      print "locked=" (of[0, "finalization-locked"] == "true")
      print "queued=" isQueued
    }' "$work/status" >"$work/deployments" || refuse DriverMissing 'rpm-ostree did not boot this system'
  for key in booted staged fallback locked queued; do
    eval "$key=\$(sed -n \"s/^$key=//p\" \"\$work/deployments\")"
  done
}

# Before 2022.16, rebasing to an image requires --experimental; later versions accept it without an effect.
stage() { pull rpm-ostree rebase --experimental --bypass-driver --lock-finalization "ostree-unverified-registry:$image@$digest"; }

# The daemon fetches, not the command.
cancel_pull() { host rpm-ostree cancel >/dev/null 2>&1; }

drop_staged() { host rpm-ostree cleanup --pending >"$work/out" 2>&1 || fail 'drop the staged image' <"$work/out"; }

apply() {
  # finalize-deployment reboots by itself; it refuses an image that is not locked, which any boot activates anyway. It gets
  # no checksum, because since 2025.7 it expects the digest of the manifest, and before that the commit without packages.
  if [ "$locked" = 1 ]; then order_boot rpm-ostree finalize-deployment --allow-missing-checksum; else order_boot systemctl reboot; fi
}

go_back() {
  # A second rollback would revert the first one, or select a third deployment. It is refused while an image is staged.
  if [ "$queued" = 0 ] && [ -n "$staged" ]; then drop_staged; fi
  if [ "$queued" = 0 ] || { [ "$staged" != "$fallback" ] && [ "$staged" != "$digest" ]; }; then
    host rpm-ostree rollback >"$work/out" 2>&1 || fail 'roll back' <"$work/out"
  fi
  order_boot systemctl reboot
}

look_at_driver() { :; }
