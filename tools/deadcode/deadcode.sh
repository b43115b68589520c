#!/usr/bin/env bash
# Fails on functions that no program reaches, except those in allowed.txt, on obsolete lines there, and on functions that no test
# reaches either. tools/vocabulary is used by the module tools/querycheck, which is not analyzed.
set -euo pipefail
cd "$(dirname "$0")/../.."
tags=e2e_deb,e2e_dynamo,e2e_kube,e2e_live,e2e_triton,e2e_vllm
"$TOOLS/deadcode" -f '{{range .Funcs}}{{println .Position .Name}}{{end}}' ./... >"$CACHE/deadcode.txt"
awk '
  NF && FILENAME == ARGV[1] && $1 !~ /^#/ { allowed[$1] = 1; if (NF == 1) { print FILENAME ": no reason is given for " $1; bad = 1 } }
  NF && FILENAME == ARGV[2] {
    file = dir = $1; sub(/:.*/, "", file); sub(/[^\/]*$/, "", dir)
    if ((name = file ":" $2) in allowed || (name = file) in allowed || (name = dir) in allowed) used[name] = 1
    else { print $1 ": no program reaches " $2; bad = 1 } }
  END { for (name in allowed) if (!(name in used)) { print ARGV[1] ": nothing of " name " is dead"; bad = 1 } exit bad }' \
  tools/deadcode/allowed.txt "$CACHE/deadcode.txt"
"$TOOLS/deadcode" -test -tags "$tags" ./... >"$CACHE/deadcode.txt"
! grep -v '^tools/vocabulary/' "$CACHE/deadcode.txt" || { echo 'no test reaches these either'; exit 1; }
