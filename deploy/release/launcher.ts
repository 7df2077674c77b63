/** The script that starts the command from its archive; in a checkout, `cli/kubectl-ostler` starts it. */
export const launcher = `#!/bin/sh
# Runs ostler with the files beside this one, and installs or downloads nothing. Link it on your PATH as ostler,
# kubectl-ostler (kubectl ostler …) and kubectl_complete-ostler (completions of kubectl ostler …).
set -eu
root=$(dirname -- "$(readlink -f -- "$0")")
case $(basename -- "$0") in
  kubectl-ostler) OSTLER_CALLED_AS="kubectl ostler" ;;
  kubectl_complete-ostler) set -- __complete "$@" ;;
esac
export OSTLER_CALLED_AS="\${OSTLER_CALLED_AS:-ostler}" DENO_NO_UPDATE_CHECK=1
unset INIT_CWD
exec "$root/deno" run --quiet --no-prompt --cached-only --no-lock --unstable-lazy-dynamic-imports \\
  --node-modules-dir=manual --config "$root/deno.json" --import-map "$root/imports.json" \\
  --allow-net --allow-read --allow-write --allow-env --allow-sys --allow-ffi --allow-run "$root/cli/main.ts" "$@"
`;
