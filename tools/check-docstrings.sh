#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every function in a header of src/ has a docstring: its declaration follows a comment that begins
# with two stars and ends on the line before. (Macros that define cleanup functions speak for
# themselves.)
set -eu
# shellcheck source=tools/lint-lib.sh
. "$(dirname "$0")/lint-lib.sh"

hits=$(mktemp)
trap 'rm -f "$hits"' EXIT
find "$top/src" -name '*.h' -exec awk '
FNR == 1 { above = ""; comment = 0; macro = 0 }
macro { macro = /\\$/; above = ""; next }
/^[ \t]*#/ { macro = /\\$/; above = ""; next }
/^\/\*/ { doc = /^\/\*\*/; comment = 1 }
comment { if (/\*\//) { comment = 0; above = doc ? "doc" : "comment" } next }
# A function is a line at the left margin that opens a parenthesis after a name: neither the rest
# of a longer declaration nor a call of a macro in capitals.
/^[a-z_][^=;{]*[a-z0-9_]\(/ && !/^(static_assert|_Static_assert)/ {
	if (above != "doc") print FILENAME ":" FNR ": " $0
}
{ above = "" }
' '{}' + | sort >"$hits"
while IFS= read -r line; do
	finding "no docstring: ${line#"$top"/}"
done <"$hits"
lint_end
