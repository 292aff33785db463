# SPDX-License-Identifier: Apache-2.0
# Who runs with whom, and whom to blame: included by Makefile.am. Pure; a library of its own.
noinst_LIBRARIES += libpairing.a
libpairing_a_SOURCES = \
	controller/pairing/bisect.c controller/pairing/blame.c controller/pairing/cover.c controller/pairing/inside.h \
	controller/pairing/leaf.c controller/pairing/level.c controller/pairing/pairing.c controller/pairing/pairing.h controller/pairing/parts.c \
	controller/pairing/rounds.c controller/pairing/view.c controller/pairing/words.c
PAIRING_LIBS = libpairing.a $(JUDGE_LIBS)
PAIRING_WORLD = tests/unit/pairing_world.c tests/unit/pairing_world.h tests/unit/random.h
UNIT_TESTS += tests/unit/test_pairing tests/unit/test_pairing_random tests/unit/test_pairing_sim
tests_unit_test_pairing_SOURCES = tests/unit/test_pairing.c $(PAIRING_WORLD)
tests_unit_test_pairing_LDADD = $(PAIRING_LIBS) $(LDADD)
tests_unit_test_pairing_random_SOURCES = tests/unit/test_pairing_random.c $(PAIRING_WORLD)
tests_unit_test_pairing_random_LDADD = $(PAIRING_LIBS) $(LDADD)
tests_unit_test_pairing_sim_SOURCES = tests/unit/test_pairing_sim.c $(PAIRING_WORLD)
tests_unit_test_pairing_sim_LDADD = $(PAIRING_LIBS) $(LDADD)
# Plays the rounds with what probes in guests printed.
check_PROGRAMS += tests/guest/pairing_rounds
tests_guest_pairing_rounds_LDADD = $(PAIRING_LIBS) $(CORE_LIBS)
