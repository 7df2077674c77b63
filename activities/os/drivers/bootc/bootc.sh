# bootc: images of a registry, by digest. Any boot of the node activates the staged image.
stores='/sysroot/ostree/repo/tmp /sysroot/composefs'

read_status() {
  read_json bootc status --format=json --format-version=1
  [ "$(field status.type)" = bootcHost ] || refuse DriverMissing 'bootc did not boot this system'
  booted=$(identity booted) staged=$(identity staged) fallback=$(identity rollback)
  queued=$(field status.rollbackQueued)
  # The next boot activates the fallback in this case.
  if [ "$queued" = true ]; then staged=$fallback; fi
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

# bootc has no command to drop the staged image, so the booted image is staged instead.
drop_staged() { stage; }

apply() { order_boot systemctl reboot; }

go_back() {
  # A second rollback would revert the first one.
  if [ "$queued" != true ]; then host bootc rollback >"$work/out" 2>&1 || fail 'roll back' <"$work/out"; fi
  order_boot systemctl reboot
}

look_at_driver() {
  if [ "$(field status.booted.incompatible)" = true ]; then
    find_ LayeredPackages true 'packages are layered on the image, which bootc does not support; use driver rpm-ostree, or remove the packages'
  fi
}
