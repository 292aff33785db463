# SPDX-License-Identifier: Apache-2.0
# lib/hang: who has stopped a job that stands still, from what is at hand (pure). Included by Makefile.am.
noinst_LIBRARIES += libhang.a
libhang_a_SOURCES = lib/hang/hang_case.h
HANG_LIBS = libhang.a
