# SPDX-License-Identifier: Apache-2.0
# tests/attribution: generated jobs with faults. Included by Makefile.am.
check_LIBRARIES += libjobs.a
libjobs_a_SOURCES = tests/attribution/as_trace.c tests/attribution/as_trace.h tests/attribution/inject.c tests/attribution/inject.h \
	tests/attribution/job.c tests/attribution/job.h tests/attribution/pipeline.c tests/attribution/pipeline.h
check_LIBRARIES += libringworld.a
libringworld_a_SOURCES = tests/attribution/ring_world.c tests/attribution/ring_world.h
check_PROGRAMS += tests/attribution/generate tests/attribution/rings tests/attribution/windows
tests_attribution_rings_LDADD = libringworld.a libjobs.a $(RING_LIBS) $(CORE_LIBS)
tests_attribution_generate_LDADD = libjobs.a $(CORE_LIBS)
tests_attribution_windows_SOURCES = tests/attribution/windows.c
tests_attribution_windows_LDADD = libjobs.a $(ATTRIBUTION_LIBS) $(CORE_LIBS)
