# Functions of all hands: the way into the namespaces of the host, and the text of results.

host() { nsenter -t 1 -m -u -i -n -- "$@"; }

# plain: prints the end of a program's output, escaped for a JSON string.
plain() { tail -c 900 | tr '\n\t' '  ' | tr -cd '\40-\176' | tr '"\134' "'/"; }

has_systemd() { host systemctl --version >/dev/null 2>&1 && host test -d /run/systemd/system; }
