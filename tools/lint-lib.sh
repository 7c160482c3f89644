# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Shared by the lints: where the tree is, and how a finding is shown. A lint is run by `make check`
# (srcdir and builddir set) or by hand anywhere in the tree.

top=${srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
lint=$(basename "$0" .sh)
lint=${lint#check-}
findings=0

finding()
{
	echo "$lint: $*"
	findings=$((findings + 1))
}

# The files that are ours, one per line, relative to the top: those that git tracks, or, in an
# unpacked tarball, those of our folders that look like sources.
our_files()
{
	# The safe.directory is for root in somebody else's checkout: names are all that is read.
	if [ -e "$top/.git" ] && git -C "$top" -c safe.directory='*' ls-files 2>/dev/null | grep -q .; then
		git -C "$top" -c safe.directory='*' ls-files
		return
	fi
	(
		cd "$top" || exit
		ls configure.ac Makefile.am README.md || :
		find src tests tools etc man docs m4 -type f ! -path '*/__pycache__/*' ! -path '*/.deps/*' \
			! -name pkg.m4 ! -name '*.o' ! -name '*.a' ! -name '*.log' ! -name '*.trs' \
			! -name '*.gc??' ! -name .dirstamp ! -perm -100 || :
		find src tests tools -type f \( -name '*.sh' -o -name '*.py' -o -name '*.[ch]' \) -perm -100 || :
	) 2>/dev/null
}

lint_end()
{
	[ "$findings" -eq 0 ] || exit 1
	exit 0
}
