# SPDX-License-Identifier: Apache-2.0
# controller/pairing: who meets whom, and whom that blames (pure). Included by Makefile.am.
noinst_LIBRARIES += libpairing.a
libpairing_a_SOURCES = controller/pairing/blame.c controller/pairing/cover.c controller/pairing/inside.h \
	controller/pairing/leaf.c controller/pairing/level.c controller/pairing/pairing.c controller/pairing/pairing.h \
	controller/pairing/parts.c controller/pairing/rails.c controller/pairing/rails.h controller/pairing/rounds.c \
	controller/pairing/view.c controller/pairing/words.c
PAIRING_LIBS = libpairing.a $(JUDGE_LIBS)
