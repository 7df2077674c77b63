# Functions of all hands: the way into the namespaces of the host, the text of results, and units of the host.

# The image of this container may set this variable, with which the host's bootc takes the host for a container.
unset container

host() { nsenter -t 1 -m -u -i -n -- "$@"; }

# plain: prints the end of a program's output, escaped for a JSON string.
plain() { tail -c 900 | tr '\n\t' '  ' | tr -cd '\40-\176' | tr '"\134' "'/"; }

has_systemd() { host systemctl --version >/dev/null 2>&1 && host test -d /run/systemd/system; }

# The unit_ functions handle the systemd unit that has the name of the order and outlives the order's pod.
unit_output() { host journalctl -q --no-pager -o cat -n 40 "_SYSTEMD_INVOCATION_ID=$(host systemctl show -p InvocationID --value "$name.service")"; }
# Prints "running" if systemd does not answer, because the unit may still be running.
unit_state() { host systemctl show -p SubState --value "$name.service" 2>/dev/null || echo running; }
unit_forget() {
  host systemctl stop "$name.service" >/dev/null 2>&1
  host systemctl reset-failed "$name.service" >/dev/null 2>&1
}
