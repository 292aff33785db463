# SPDX-License-Identifier: Apache-2.0
# probes/harness: a probe's main, budget, lock, emission. Included by Makefile.am.
noinst_LIBRARIES += libprobe.a
libprobe_a_SOURCES = probes/harness/child.c probes/harness/child.h probes/harness/counter.c probes/harness/counter.h probes/harness/cpu_use.c \
	probes/harness/cpu_use.h probes/harness/finding.c probes/harness/finding.h probes/harness/known.c \
	probes/harness/known.h probes/harness/probe.c probes/harness/probe.h probes/harness/since.c probes/harness/since.h
PROBE_LIBS = libprobe.a $(BASE_LIBS)
