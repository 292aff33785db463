# SPDX-License-Identifier: Apache-2.0
# lib/pairing: who meets whom, and whom that blames (pure). Included by Makefile.am.
noinst_LIBRARIES += libpairing.a
libpairing_a_SOURCES = lib/pairing/blame.c lib/pairing/cover.c lib/pairing/inside.h \
	lib/pairing/leaf.c lib/pairing/level.c lib/pairing/pairing.c lib/pairing/pairing.h \
	lib/pairing/parts.c lib/pairing/rails.c lib/pairing/rails.h lib/pairing/rounds.c \
	lib/pairing/view.c lib/pairing/words.c
PAIRING_LIBS = libpairing.a $(JUDGE_LIBS)
