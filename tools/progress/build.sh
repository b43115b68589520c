#!/bin/sh
# build.sh OUTPUT PACKAGE [FLAG...]: go build that says what it does, how long that takes, and how far it is. Errors stay as they are.
set -eu
output=$1 package=$2
shift 2
go=${GO:-go}
# Whether the compiler has something to do shows only while it works; a cache without go's own packages is an empty one.
if [ ! -d "$("$go" env GOCACHE)/00" ]; then
	echo "The first build downloads the modules and compiles what is needed: one to five minutes. Later ones take seconds."
fi
# Modules are downloaded by `list`, while the processors have nothing else to do than compile what every program here uses of Go's own.
# Where that fails, the build says why.
"$go" build "$@" net/http 2>/dev/null &
total=$("$go" list "$@" -deps "$package" | wc -l)
wait
terminal=$([ -t 1 ] && echo yes || echo no)
# The shell reads line by line; an awk may keep what it reads until its buffer is full.
{ "$go" build -v "$@" -o "$output" "$package" 2>&1 || echo "go build failed: $?"; } | {
	compiled=0 failed=0
	while IFS= read -r line; do
		case $line in
		"go build failed: "*) failed=${line##* } ;;
		*[\ :]*) printf '%s\n' "$line" ;;
		*)
			compiled=$((compiled + 1))
			if [ "$terminal" = yes ]; then
				printf 'compiled %d of at most %d packages\r' "$compiled" "$total"
			elif [ $((compiled % 100)) = 0 ]; then
				echo "compiled $compiled of at most $total packages"
			fi
			;;
		esac
	done
	[ "$terminal" = no ] || [ "$compiled" = 0 ] || echo
	exit "$failed"
}
