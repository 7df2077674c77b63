# bootc: images of a registry, by digest. What is staged is booted by whatever boots the node.
stores='/sysroot/ostree/repo/tmp /sysroot/composefs'

read_status() {
  read_json bootc status --format=json --format-version=1
  [ "$(field status.type)" = bootcHost ] || refuse DriverMissing 'bootc did not boot this system'
  booted=$(identity booted) staged=$(identity staged) fallback=$(identity rollback)
  queued=$(field status.rollbackQueued)
  # The next boot goes back by itself then.
  if [ "$queued" = true ]; then staged=$fallback; fi
}

# One that came from no image has none of its digest: there its commit stands for it.
identity() {
  found=$(field "status.$1.image.imageDigest")
  [ -n "$found" ] || found=$(field "status.$1.ostree.checksum" | sed 's/^/sha256:/')
  printf '%s' "$found"
}

stage() { pull bootc switch --transport registry "$image@$digest"; }

# There is no verb for it; the booted one takes its place.
drop_staged() { stage; }

apply() { order_boot systemctl reboot; }

go_back() {
  # A second rollback would take the first one back.
  if [ "$queued" != true ]; then host bootc rollback >"$work/out" 2>&1 || fail 'go back' <"$work/out"; fi
  order_boot systemctl reboot
}

look_at_driver() {
  if [ "$(field status.booted.incompatible)" = true ]; then
    find_ LayeredPackages true 'packages are layered on the image, which bootc does not take: use rpm-ostree, or remove them'
  fi
}
