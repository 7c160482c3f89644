#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The lints must be able to fail: each is run on a small tree that is clean, and then on that tree
# with one thing wrong, which it has to name.
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cc=${CC:-cc}
bad=0
ran=0

# c FILE: a C file from standard input.
c()
{
	mkdir -p "$(dirname "$1")"
	{
		echo '/* SPDX-License-Identifier: Apache-2.0 */'
		cat
	} >"$1"
}

make_tree()
{
	mkdir "$dir/clean"
	cd "$dir/clean"
	mkdir -p tools tests/unit tests/fuzz man src/app src/report src/observe
	cp "$tools"/*.sh tools/
	echo '#define MAX(a, b) ((a) > (b) ? (a) : (b))' | c src/base/macro.h
	c src/base/fs.h <<-'END'
		/**
		 * Reads. May call kill() and system() in a comment.
		 */
		int fs_read(int fd,
			    const char *path);

		/* A table. */
		struct fs {
			int (*read)(int fd);
		};

		/** Is always one. */
		static inline int fs_one(void)
		{
			return 1;
		}
	END
	c src/base/fs.c <<-'END'
		#include "base/fs.h"
		int fs_read(int fd, const char *path)
		{
			/* never strcpy(a, b) */ const char *text = "kill(1, \"9\")"; // atoi(x)
			return fd + text[0] + path[0];
		}
	END
	echo 'struct facts { int age; };' | c src/model/facts.h
	c src/decide/decide.h <<-'END'
		#include "base/macro.h"
		#include "model/facts.h"
		/** Decides. */
		int decide(const struct facts *facts);
	END
	c src/decide/decide.c <<-'END'
		#include "decide/decide.h"
		#include <string.h>
		int decide(const struct facts *facts)
		{
			struct facts copy;
			memcpy(&copy, facts, sizeof(copy));
			return copy.age;
		}
	END
	c src/app/main.c <<-'END'
		#include "decide/decide.h"
		#include "base/fs.h"
		int main(void)
		{
			return 0;
		}
	END
	echo '#include <sys/types.h>' | c src/app/caps.c
	echo '#include <sys/types.h>' | c src/report/json.c
	echo '#include <sys/types.h>' | c src/observe/processes.c
	echo 'int test_decide;' | c tests/unit/test_decide.c
	echo 'int fuzz_marker;' | c tests/fuzz/fuzz_marker.c
	{
		echo '# SPDX-License-Identifier: Apache-2.0'
		find src -name '*.[ch]'
		echo tests/unit/test_decide tests/fuzz/fuzz_marker
	} >Makefile.am
	cat >man/reaper.8 <<-'END'
		.\" SPDX-License-Identifier: Apache-2.0
		.Dd November 21, 2026
		.Dt REAPER 8
		.Os
		.Sh NAME
		.Nm reaper
		.Nd end leaked workers
		.Sh DESCRIPTION
		It ends them.
	END
}

# A fresh copy of the clean tree, compiled.
clean_tree()
{
	rm -rf "$dir/tree"
	cp -pR "$dir/clean" "$dir/tree"
	cd "$dir/tree"
}

# build: what the lints look at besides the sources; only what was touched is compiled again.
build()
{
	for source in src/*/*.c; do
		object=${source%.c}.o
		# shellcheck disable=SC3013  # dash, bash and busybox all have -nt
		if ! [ -e "$object" ] || [ "$source" -nt "$object" ]; then
			"$cc" -fPIE -O1 -w -Isrc -c -o "$object" "$source" || return
			rm -f reaper
		fi
	done
	[ -e reaper ] || "$cc" -pie -o reaper src/*/*.o
}

# expect NAME LINT PATTERN: after what the caller spoilt, the lint fails and prints the pattern;
# without a pattern it passes.
expect()
{
	ran=$((ran + 1))
	status=0
	if ! build >"$dir/out" 2>&1; then
		status=compiler
	else
		srcdir=. PLAIN_BUILD=yes HARDENING=-D_FORTIFY_SOURCE=2 sh "tools/check-$2.sh" >"$dir/out" 2>&1 || status=$?
	fi
	if [ -z "$3" ] && [ "$status" != 0 ]; then
		cat "$dir/out"
		echo "FAIL: $1: the lint $2 ended with $status"
		bad=1
	elif [ -n "$3" ] && { [ "$status" != 1 ] || ! grep -q "$3" "$dir/out"; }; then
		cat "$dir/out"
		echo "FAIL: $1: the lint $2 ended with $status and did not say '$3'"
		bad=1
	else
		echo "ok: $1"
	fi
	clean_tree
}

make_tree
build
clean_tree
for lint in layers doors calls spdx docstrings lists; do
	expect "clean tree: $lint" "$lint" ''
done

echo '#include "act/act.h"' >>src/decide/decide.h
echo | c src/act/act.h
expect 'include sideways' layers 'src/decide/decide.h may not include act/act.h'
echo '#include "app/cli.h"' >>src/model/facts.h
echo | c src/app/cli.h
expect 'include upwards' layers 'src/model/facts.h may not include app/cli.h'
echo '#include "base/fs.h"' >>src/decide/decide.c
expect 'pure folder takes a file reader' layers 'src/decide/decide.c may not include base/fs.h'
printf '#if 0\n#include "fs.h"\n#endif\n' >>src/base/fs.c
expect 'include without its folder' layers 'src/base/fs.c may not include fs.h'
echo | c src/misc/misc.c
expect 'folder without a floor' layers 'src/misc has no floor'
printf '#include <time.h>\nlong when(void) { return time(0); }\n' >>src/decide/decide.c
expect 'clock in a pure folder' layers 'decide.o is not pure: it needs time'
printf '#include <errno.h>\nint why(void) { return errno; }\n' >>src/decide/decide.c
expect 'errno in a pure folder' layers 'decide.o is not pure: it needs __errno_location'
printf '#include <stdio.h>\nvoid say(void) { puts("x"); }\n' >>src/decide/decide.c
expect 'output in a pure folder' layers 'decide.o is not pure: it needs puts'
printf 'int fs_read(int, const char *);\nint f(void) { return fs_read(0, ""); }\n' >>src/decide/decide.c
expect 'a pure folder calls the base by hand' layers 'decide.o is not pure: it needs fs_read'
for folder in model correlate; do
	printf '#include <unistd.h>\nint who(void) { return getpid(); }\n' | c "src/$folder/who.c"
	expect "system call in $folder" layers "$folder/who.o is not pure: it needs getpid"
done

for row in libproc2/pids.h sys/capability.h ini.h jansson.h libmnl/libmnl.h seccomp.h \
	criterion/criterion.h; do
	# The header need not be there: what counts is the line.
	printf '#if 0\n#include <%s>\n#endif\n' "$row" >>src/app/main.c
	expect "$row outside its door" doors 'src/app/main.c may not include'
done
printf '#if 0\n#include <jansson.h>\n#endif\n' | c src/report/explain_json.c
printf '#if 0\n#include <libproc2/pids.h>\n#endif\n' >>src/observe/processes.c
expect 'libraries at their doors' doors ''

for call in 'kill(1, 9)' 'killpg(1, 9)' 'tgkill(1, 1, 9)' 'system("x")' 'popen("x", "r")' \
	'strcpy(a, b)' 'strcat(a, b)' 'sprintf(a, "x")' 'gets(a)' 'atoi(a)' 'execvp(a, b)' \
	'syscall(SYS_kill, 1, 9)' 'raise(pthread_kill (t, 9))'; do
	printf '#if 0\n\tx = %s;\n#endif\n' "$call" >>src/base/fs.c
	expect "source calls $call" calls 'forbidden call: src/base/fs.c:[0-9]*: .x = '
done
printf '#if 0\n%s\n%s\n#endif\n' 'pidfd_kill(1, 9); x.kill(1); p->kill(1); SCMP_SYS(kill);' \
	'SIGKILL; SCMP_ACT_KILL_PROCESS; vsnprintf(a, 1, b); strncpy(a, b, 1);' >>src/base/fs.c
expect 'names that only look alike' calls ''
printf '#include <signal.h>\n#define BLOW(f) f ## l\nint g(void) { return BLOW(kil)(1, 0); }\n' \
	>>src/app/main.c
expect 'the program imports kill' calls 'the program imports kill'

cflags='-fPIE -O2 -D_FORTIFY_SOURCE=2 -fstack-protector-strong'
ldflags='-pie -Wl,-z,relro -Wl,-z,now'
spoil='#include <stdio.h>\n#include <string.h>\nint main(int c, char **v) { char a[9]; memcpy(a, *v, c); puts(a); }'
# harden NAME SIGN FLAG...: a program that is hardened but for these flags.
# shellcheck disable=SC2059  # the format is the program
harden()
{
	name=$1
	sign=$2
	shift 2
	printf "$spoil" | c src/app/main.c
	# shellcheck disable=SC2086  # lists of flags
	"$cc" $cflags -w -o reaper src/app/main.c $ldflags "$@"
	touch src/app/main.o
	expect "$name" hardening "$sign"
}
harden 'hardened program' ''
harden 'not position independent' 'no position independent code' -fno-PIE -no-pie
harden 'late binding' 'no immediate binding' -Wl,-z,lazy
harden 'no relro' 'no read-only relocations' -Wl,-z,norelro
harden 'executable stack' 'no stack that cannot be executed' -Wl,-z,execstack
harden 'no stack protector' 'no stack protector' -fno-stack-protector
harden 'not fortified' 'no fortified function' -U_FORTIFY_SOURCE

sed -i 1d src/base/fs.c
expect 'source without SPDX line' spdx 'src/base/fs.c has no SPDX line'
sed -i 1d Makefile.am
expect 'makefile without SPDX line' spdx 'Makefile.am has no SPDX line'

printf 'int fs_write(int fd);\n' >>src/base/fs.h
expect 'function without a comment' docstrings 'fs.h:.*fs_write'
printf '/* Writes. */\nint fs_write(int fd);\n' >>src/base/fs.h
expect 'function with a comment that is no docstring' docstrings 'fs.h:.*fs_write'
printf '/** Writes. */\n\nint fs_write(int fd);\n' >>src/base/fs.h
expect 'docstring that hangs in the air' docstrings 'fs.h:.*fs_write'
printf 'static inline int fs_two(void)\n{\n\treturn 2;\n}\n' >>src/base/fs.h
expect 'inline function without a docstring' docstrings 'fs.h:.*fs_two'
printf '/** One. */\nint fs_1(int fd);\nstruct fs *fs_2(int fd,\n\t\tint x);\n' >>src/base/fs.h
expect 'second function under one docstring' docstrings 'fs.h:.*fs_2'

echo | c src/base/new.c
expect 'source that is not listed' lists 'src/base/new.c is not in Makefile.am'
echo | c tests/unit/test_new.c
expect 'unit test that is not listed' lists 'tests/unit/test_new is not in Makefile.am'
echo | c tests/fuzz/fuzz_new.c
expect 'fuzzer that is not listed' lists 'tests/fuzz/fuzz_new is not in Makefile.am'
echo src/base/gone.c >>Makefile.am
expect 'listed source that is not there' lists 'src/base/gone.c is in Makefile.am, but not there'

# wraps_case FLAG: pid_reuse as it is linked, with that flag, from a library that reads.
wraps_case()
{
	printf 'long read(int, void *, unsigned long);\nint fs_get(int fd) { return read(fd, 0, 0); }\n' >>src/base/fs.c
	mkdir -p tests/torture
	for name in give_away inside people pid_reuse sweeps; do
		echo "int fs_get(int); int $name(void) { return fs_get(0); }" | c "tests/torture/$name.c"
		"$cc" -w -c -o "tests/torture/$name.o" "tests/torture/$name.c"
	done
	build
	ar rcs libreaper.a src/base/fs.o
	printf 'tests_torture_pid_reuse_LDFLAGS = \\\n\t%s\n' "$1" >>Makefile.am
}
wraps_case -Wl,--wrap=read
expect 'every call is wrapped' wraps ''
wraps_case -Wl,--wrap=readv
expect 'a call is not wrapped' wraps 'does not wrap read, which fs.o calls'
wraps_case -Wl,--wrap=read
rm tests/torture/people.o
expect 'no pid_reuse' wraps 'people.o is not built'

safety_case()
{
	cat >>man/reaper.8 <<-'END'
		.Sh PROMISES
		N1 and N2.
		.Bl -enum
		.It
		It follows
		.Pa /proc ,
		or stops
		.Pq Cm policy.off , No as shipped .
		.It
		It ends.
		.El
	END
	mkdir -p docs
	cat >docs/SAFETY.md <<-'END'
		| N1 | It follows `/proc`, or stops (`policy.off`, as shipped). | a hazard |
		| N2 | It ends. | a hazard |
	END
}
safety_case
expect 'the same promises' man ''
safety_case
sed -i 's/or stops/and stops/' docs/SAFETY.md
expect 'another word' man 'reaper.8 and docs/SAFETY.md differ: N1 $'
safety_case
sed -i '/^| N2/d' docs/SAFETY.md
expect 'a promise less' man 'reaper.8 and docs/SAFETY.md differ: N2 $'
safety_case
sed -i '/^\.Sh PROMISES/,$d' man/reaper.8
expect 'no promises' man 'reaper.8 has no PROMISES'
if command -v mandoc >/dev/null || command -v groff >/dev/null; then
	expect 'clean man page' man ''
	echo '.Sx' >>man/reaper.8
	echo '.Nosuch macro' >>man/reaper.8
	expect 'man page with a fault' man 'finds fault with reaper.8'
	rm man/reaper.8
	expect 'no man page' man 'no man page'
fi

if command -v systemd-analyze >/dev/null; then
	mkdir etc
	cp "$tools"/../etc/*.service etc/
	expect 'clean units' unit ''
	mkdir etc
	printf '[Service]\nExecStart=/bin/true\n' >etc/bare.service
	expect 'unit without a sandbox' unit 'bare.service is more exposed'
fi

echo "test-lints: $ran cases"
exit $bad
