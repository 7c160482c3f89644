#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The linked program has what the hardening flags promise: it is position independent, its
# relocations are read-only from the start, its stack is guarded and not executable, and the C
# library's checked functions are in use.
set -eu
# shellcheck source=tools/lint-lib.sh
. "$(dirname "$0")/lint-lib.sh"

[ -n "${PLAIN_BUILD-}" ] || { echo "hardening: skipped, this is a special build"; exit 77; }
[ -n "${HARDENING-}" ] || { echo "hardening: skipped, configured with --disable-hardening"; exit 77; }
[ -e reaper ] || { finding "the program is not built"; lint_end; }

shown=$(LC_ALL=C ${READELF:-readelf} -W -h -l -d --dyn-syms reaper)
has()
{
	echo "$shown" | grep -Eq "$1" || finding "the program has no $2"
}
has '^ *Type: *DYN' 'position independent code'
has ' GNU_RELRO ' 'read-only relocations'
has 'BIND_NOW|Flags:.*NOW' 'immediate binding'
has ' GNU_STACK .* RW ' 'stack that cannot be executed'
has ' __stack_chk_fail' 'stack protector'
case $HARDENING in
*_FORTIFY_SOURCE*) has ' __[a-z_]+_chk@' 'fortified function' ;;
esac
lint_end
