# SPDX-License-Identifier: Apache-2.0
# lib/pairing: which hosts test each other, and which hosts the results blame (pure). Included by Makefile.am.
noinst_LIBRARIES += libpairing.a
libpairing_a_SOURCES = lib/pairing/blame.c lib/pairing/blame.h lib/pairing/cover.c lib/pairing/cover.h \
	lib/pairing/leaf.c lib/pairing/leaf.h lib/pairing/level.c lib/pairing/level.h lib/pairing/pairing.c lib/pairing/pairing.h \
	lib/pairing/parts.c lib/pairing/parts.h lib/pairing/rails.c lib/pairing/rails.h lib/pairing/rounds.c lib/pairing/rounds.h \
	lib/pairing/view.c lib/pairing/view.h lib/pairing/words.c lib/pairing/words.h
PAIRING_LIBS = libpairing.a $(JUDGE_LIBS)
