#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fails when an #include points sideways or up, or when an object of a pure folder needs a name that
# is neither pure nor on the short list below.
set -eu
# shellcheck source=tools/lint-lib.sh
. "$(dirname "$0")/lint-lib.sh"

floor()
{
	case $1 in
	base) echo 0 ;;
	model) echo 1 ;;
	observe | correlate | decide | act | report) echo 2 ;;
	app) echo 3 ;;
	*) echo none ;;
	esac
}

# may_include FROM INCLUDED: may a file of folder FROM include "INCLUDED"?
may_include()
{
	to=${2%%/*}
	case $1/$2 in
	"$1/$1"/*) return 0 ;;
	correlate/base/macro.h | decide/base/macro.h | model/base/macro.h) return 0 ;;
	correlate/base/* | decide/base/* | model/base/*) return 1 ;;
	esac
	[ "$(floor "$to")" != none ] && [ "$(floor "$to")" -lt "$(floor "$1")" ]
}

for dir in "$top"/src/*/; do
	dir=$(basename "$dir")
	[ "$(floor "$dir")" != none ] || finding "src/$dir has no floor"
done
for file in "$top"/src/*/*.[ch]; do
	from=$(basename "$(dirname "$file")")
	[ "$(floor "$from")" != none ] || continue
	# shellcheck disable=SC2013  # header names hold no blanks
	for inc in $(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/p' "$file"); do
		may_include "$from" "$inc" || finding "${file#"$top"/} may not include $inc"
	done
done

# Memory, strings, sorting, and what the compiler makes of them; nothing that looks at the world.
memory='(mem(cpy|move|set|cmp|chr|rchr|mem)|bcmp|mempcpy)(_chk)?'
string='str(n?cmp|n?len|r?chr|chrnul|str|c?spn|pbrk|ncpy|sep|n?dup)|stpn?cpy'
sort='qsort(_r)?|bsearch|malloc|calloc|realloc|reallocarray|free'
runtime='__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__assert_fail|__(a|ub|l)san_.*|__sanitizer_.*|__gcov_.*|__llvm_.*|__sancov_.*'
allowed="^(_*($memory)|$string|$sort|$runtime)$"
for dir in model correlate decide; do
	for source in "$top/src/$dir"/*.c; do
		[ -e "$source" ] || continue
		object=src/$dir/$(basename "$source" .c).o
		[ -e "$object" ] || finding "$object is not built, so nobody can say that it is pure"
	done
done
objects=$(ls src/model/*.o src/correlate/*.o src/decide/*.o 2>/dev/null) || :
if [ -n "$objects" ]; then
	# shellcheck disable=SC2086  # a list of files
	defined=$(${NM:-nm} --defined-only $objects | awk '$2 ~ /^[TRDBVW]$/ { print $3 }')
	for object in $objects; do
		for symbol in $(${NM:-nm} -u "$object" | awk '{ print $2 }' | sed 's/@.*//'); do
			echo "$symbol" | grep -Eq "$allowed" && continue
			echo "$defined" | grep -qxF "$symbol" && continue
			finding "$object is not pure: it needs $symbol"
		done
	done
fi
lint_end
