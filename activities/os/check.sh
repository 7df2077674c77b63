# Finds problems that would stop an update, and changes that an update would lose.

# Units that would undo an update, stage another one, or reboot outside the budget.
updaters='zincati.service rpm-ostreed-automatic.timer bootc-fetch-apply-updates.timer unattended-upgrades.service apt-daily-upgrade.timer'

look_for_findings() {
  for unit in $updaters; do
    state=$(host systemctl is-enabled "$unit" 2>/dev/null)
    # systemctl calls a unit disabled that the image starts by a link in /usr/lib, such as the timer in images of bootc.
    if host systemctl is-active --quiet "$unit" 2>/dev/null; then state=active; fi
    case $state in
      active | enabled | enabled-runtime) find_ OtherUpdater true "$unit is $state; run systemctl mask --now $unit" ;;
    esac
  done
  # These run in DaemonSets, so the host has no units of them; this container sees the processes of the host, whose names
  # have at most 15 characters.
  cat /proc/[0-9]*/comm >"$work/comms" 2>/dev/null
  if grep -qx kured "$work/comms"; then find_ OtherUpdater true 'kured is running and reboots nodes too; exclude this node from it'; fi
  if grep -qx housekeeper-con "$work/comms"; then
    find_ OtherUpdater true 'housekeeper is running, reboots nodes too and undoes cordons; run kubectl -n housekeeper-system delete daemonset housekeeper-controller-manager'
  fi
  look_at_boot
  look_at_etc
  look_at_driver
}

# A deployment stores one kernel with its initrd in /boot/ostree; the largest existing one is the estimate.
look_at_boot() {
  need=$(host du -k -d 1 /boot/ostree 2>/dev/null | awk '$2 != "/boot/ostree" && $1 > most { most = $1 } END { print most + 0 }')
  free=$(host df -Pk /boot 2>/dev/null | awk 'NR == 2 { print $4 }')
  if [ -n "$free" ] && [ "$free" -lt "$need" ]; then find_ BootSpace true "/boot has $free KiB free, but a kernel needs $need KiB"; fi
}

look_at_etc() {
  host ostree admin config-diff >"$work/etc" 2>/dev/null || return 0
  changes=$(grep -c '^[AMD] ' "$work/etc")
  if [ "$changes" -gt 0 ]; then
    find_ EtcChanged false "$changes files of /etc differ from the image's, such as $(head -3 "$work/etc" | awk '{ printf "%s%s", (NR > 1 ? ", " : ""), $2 }'): a rollback restores their previous versions"
  fi
}
