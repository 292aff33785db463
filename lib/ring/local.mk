# SPDX-License-Identifier: Apache-2.0
# lib/ring: records of a job's collectives, per communicator: reading them, and finding steps. Included by Makefile.am.
noinst_LIBRARIES += libring.a
libring_a_SOURCES = lib/ring/ring_layout.h lib/ring/ring_op.h \
	lib/ring/ring_clock.c lib/ring/ring_clock.h lib/ring/ring_kind.c lib/ring/ring_kind.h \
	lib/ring/ring_late.c lib/ring/ring_late.h lib/ring/ring_line.c lib/ring/ring_line.h \
	lib/ring/ring_links.c lib/ring/ring_links.h lib/ring/ring_optrace.c lib/ring/ring_optrace.h \
	lib/ring/ring_own.c lib/ring/ring_own.h lib/ring/ring_period.c lib/ring/ring_period.h \
	lib/ring/ring_spans.c lib/ring/ring_spans.h lib/ring/ring_steps.c lib/ring/ring_steps.h
libring_a_SOURCES += lib/ring/ring_words.c lib/ring/ring_words.h
libring_a_SOURCES += lib/ring/ring_func.c lib/ring/ring_func.h lib/ring/ring_read.c lib/ring/ring_read.h
RING_LIBS = libring.a
