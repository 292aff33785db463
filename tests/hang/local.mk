# SPDX-License-Identifier: Apache-2.0
# tests/hang: jobs that hang in known ways, and their dumps. Included by Makefile.am.
check_LIBRARIES += libhangworld.a
libhangworld_a_SOURCES = tests/hang/hang_world.c tests/hang/hang_world.h tests/hang/hang_writer.c tests/hang/hang_writer.h
check_PROGRAMS += tests/hang/hang-dumps
tests_hang_hang_dumps_SOURCES = tests/hang/dumps.c
tests_hang_hang_dumps_LDADD = libhangworld.a $(CORE_LIBS)
