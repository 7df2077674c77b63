# bootc: images of a registry, by digest. Any boot of the node activates the staged image.
stores='/sysroot/ostree/repo/tmp /sysroot/composefs'

read_status() {
  read_json bootc status --format=json --format-version=1
  [ "$(field status.type)" = bootcHost ] || refuse DriverMissing 'bootc did not boot this system'
  booted=$(identity booted) staged=$(identity staged) fallback=$(identity rollback)
  queued=$(field status.rollbackQueued)
  # The next boot activates the fallback in this case, unless an image was staged after the rollback.
  if [ "$queued" = true ] && [ -z "$staged" ]; then staged=$fallback; fi
}

# Prints the digest of a deployment, or its commit if it came from no image. The digest that bootc reports is that of the
# platform's manifest, so an image that was fetched by the digest of its index is recognized by its reference.
identity() {
  case $(field "status.$1.image.image.image") in *"@$digest") printf '%s' "$digest" && return ;; esac
  found=$(field "status.$1.image.imageDigest")
  [ -n "$found" ] || found=$(field "status.$1.ostree.checksum" | sed 's/^/sha256:/')
  printf '%s' "$found"
}

stage() { pull bootc switch --transport registry "$image@$digest"; }

# bootc has no command to drop the staged image, so the booted image is staged instead. It does not stage the booted
# image while only a rollback is queued; a second rollback reverts the first one.
drop_staged() { if [ "$queued" = true ]; then roll_back; else stage; fi; }

# Queues a rollback, or reverts a queued one; drops the staged image in both cases.
roll_back() { host bootc rollback >"$work/out" 2>&1 || fail 'roll back' <"$work/out"; }

apply() {
  # No boot activates an image that "bootc upgrade --download-only" staged or locked.
  if [ "$(field status.staged.downloadOnly)" = true ]; then
    host bootc upgrade --from-downloaded >"$work/out" 2>&1 || fail 'unlock the staged image' <"$work/out"
  fi
  order_boot systemctl reboot
}

go_back() {
  # A staged image would boot instead of the fallback.
  if [ "$queued" = true ] && [ "$staged" != "$fallback" ]; then
    roll_back
    queued=false
  fi
  if [ "$queued" != true ]; then roll_back; fi
  order_boot systemctl reboot
}

look_at_driver() {
  if [ "$(field status.booted.incompatible)" = true ]; then
    find_ LayeredPackages true 'packages are layered on the image, which bootc does not support; use driver rpm-ostree, or remove the packages'
  fi
}
