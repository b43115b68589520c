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
total=$("$go" list "$@" -deps "$package" | wc -l)
{ "$go" build -v "$@" -o "$output" "$package" 2>&1 || echo "exit status $?"; } | awk -v total="$total" -v terminal="$([ -t 1 ] && echo 1 || echo 0)" '
	/^exit status [0-9]+$/ { failed = $3; next }
	!/^[^ :]+$/ { if (shown) printf "\n"; shown = 0; print; fflush(); next }
	{
		compiled++
		if (terminal) { printf "\rcompiled %d of at most %d packages", compiled, total; shown = 1 }
		else if (compiled % 100 == 0) print "compiled " compiled " of at most " total " packages"
		fflush()
	}
	END { if (shown) printf "\n"; exit failed }'
