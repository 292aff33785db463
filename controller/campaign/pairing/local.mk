# SPDX-License-Identifier: Apache-2.0
# controller/campaign/pairing: who meets whom, and whom that blames (pure). Included by Makefile.am.
noinst_LIBRARIES += libpairing.a
libpairing_a_SOURCES = controller/campaign/pairing/blame.c controller/campaign/pairing/cover.c \
	controller/campaign/pairing/inside.h controller/campaign/pairing/leaf.c controller/campaign/pairing/level.c \
	controller/campaign/pairing/pairing.c controller/campaign/pairing/pairing.h controller/campaign/pairing/parts.c \
	controller/campaign/pairing/rounds.c controller/campaign/pairing/view.c controller/campaign/pairing/words.c
PAIRING_LIBS = libpairing.a $(JUDGE_LIBS)
