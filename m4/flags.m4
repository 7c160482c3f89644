dnl SPDX-License-Identifier: Apache-2.0

dnl REAPER_TRY_CFLAG(VARIABLE, FLAG [FLAG...])
dnl Adds the flags to VARIABLE when the compiler takes them without a word. Clang only warns about
dnl what it does not know, so a warning counts as a no.
AC_DEFUN([REAPER_TRY_CFLAG], [
	AS_VAR_PUSHDEF([cache], [reaper_cv_cflag_$2])
	AC_CACHE_CHECK([whether $CC takes $2], [cache], [
		reaper_save_CFLAGS=$CFLAGS
		CFLAGS="$CFLAGS -Werror $2"
		AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]])],
			[AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
		CFLAGS=$reaper_save_CFLAGS
	])
	AS_VAR_IF([cache], [yes], [AS_VAR_APPEND([$1], [" $2"])])
	AS_VAR_POPDEF([cache])
])

dnl REAPER_TRY_LDFLAG(VARIABLE, FLAG)
dnl The same for the linker.
AC_DEFUN([REAPER_TRY_LDFLAG], [
	AS_VAR_PUSHDEF([cache], [reaper_cv_ldflag_$2])
	AC_CACHE_CHECK([whether the linker takes $2], [cache], [
		reaper_save_LDFLAGS=$LDFLAGS
		LDFLAGS="$LDFLAGS $2"
		AC_LINK_IFELSE([AC_LANG_PROGRAM([])],
			[AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
		LDFLAGS=$reaper_save_LDFLAGS
	])
	AS_VAR_IF([cache], [yes], [AS_VAR_APPEND([$1], [" $2"])])
	AS_VAR_POPDEF([cache])
])

dnl REAPER_FORTIFY(VARIABLE)
dnl The highest _FORTIFY_SOURCE that compiler and C library really give: glibc says with a #warning
dnl when it falls back, and when there is no optimization to work with. The -U is for compilers that
dnl come with a level of their own.
AC_DEFUN([REAPER_FORTIFY], [
	AC_CACHE_CHECK([which _FORTIFY_SOURCE works], [reaper_cv_fortify], [
		reaper_cv_fortify=none
		reaper_save_CFLAGS=$CFLAGS
		for reaper_level in 3 2; do
			CFLAGS="$reaper_save_CFLAGS -Werror -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$reaper_level"
			AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]])],
				[reaper_cv_fortify=$reaper_level; break])
		done
		CFLAGS=$reaper_save_CFLAGS
	])
	AS_IF([test "$reaper_cv_fortify" != none],
		[AS_VAR_APPEND([$1], [" -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$reaper_cv_fortify"])])
])
