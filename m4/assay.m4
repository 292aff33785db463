# SPDX-License-Identifier: Apache-2.0

# ASSAY_ADD_FLAGS(VARIABLE, FLAGS): append to VARIABLE those FLAGS that the
# compiler (and, for link flags, the linker) takes without a warning.
AC_DEFUN([ASSAY_ADD_FLAGS], [
for assay_flag in m4_normalize([$2]); do
	AC_MSG_CHECKING([whether $CC accepts $assay_flag])
	assay_saved_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS -Werror $assay_flag"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
		[AC_MSG_RESULT([yes]); $1="$$1 $assay_flag"],
		[AC_MSG_RESULT([no])])
	CFLAGS=$assay_saved_CFLAGS
done
])

# ASSAY_OPTIONAL(NAME, PKG-MODULES, WHAT IT IS FOR): an optional library.
# Sets HAVE_NAME for the makefile, NAME_CFLAGS, NAME_LIBS and a summary line.
AC_DEFUN([ASSAY_OPTIONAL], [
AC_ARG_WITH(m4_tolower([$1]),
	[AS_HELP_STRING([--without-]m4_tolower([$1]), [build without it: $3])],
	[], [AS_VAR_SET([with_]m4_tolower([$1]), [auto])])
assay_have_$1=no
AS_IF([test "x$with_]m4_tolower([$1])[" != xno],
	[PKG_CHECK_MODULES([$1], [$2], [assay_have_$1=yes],
		[AS_IF([test "x$with_]m4_tolower([$1])[" = xyes],
			[AC_MSG_ERROR([$2 was asked for and not found])])])])
AM_CONDITIONAL([HAVE_$1], [test $assay_have_$1 = yes])
AS_IF([test $assay_have_$1 = yes],
	[AC_DEFINE([HAVE_$1], [1], [$2 is there])
	 assay_summary="$assay_summary
  m4_tolower([$1]): yes"],
	[assay_summary="$assay_summary
  m4_tolower([$1]): no, left out: $3"])
])
