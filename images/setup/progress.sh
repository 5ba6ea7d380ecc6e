# Sourced by what takes long.

# progress WHAT LOG COMMAND...: runs the command with its output in LOG, and says every five seconds what is going on,
# with the last line that it has written. The code is the command's.
progress() {
  local what=$1 log=$2 start=$SECONDS code=0 ticker
  shift 2
  echo "setup: $what"
  : >"$log"
  # The ticker is in the background and not the command: a Ctrl-C does not reach what a script has put there. It ends with
  # the script, however that ends.
  (
    while sleep 5 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
      last=$(tail -c 2000 "$log" 2>/dev/null | tr '\r' '\n' | grep -v '^[[:space:]]*$' | tail -n 1 | cut -c1-100 || true)
      echo "setup: ($((SECONDS - start)) s) ${last:-$what}"
    done
  ) &
  ticker=$!
  "$@" >>"$log" 2>&1 || code=$?
  kill "$ticker" 2>/dev/null || true
  wait "$ticker" 2>/dev/null || true
  return "$code"
}

# failed LOG WHO: says on the standard error what WHO has written of its failure.
failed() {
  echo "hutch: $2 failed; it says:" >&2
  { grep -E '^(npm (error|ERR!) .|E: |W: |Err:| .* (Depends|PreDepends|Conflicts|Breaks): )' "$1" || tail -n 20 "$1"; } | tail -n 40 >&2
  return 1
}
