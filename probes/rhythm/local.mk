# SPDX-License-Identifier: Apache-2.0
# probes/rhythm: assay-rhythm: counters of RNICs and GPUs, sampled for a while. Included by Makefile.am.
probes_PROGRAMS += assay-rhythm
assay_rhythm_SOURCES = probes/rhythm/rhythm_counters.c probes/rhythm/rhythm_counters.h probes/rhythm/rhythm_hosts.c probes/rhythm/rhythm_hosts.h probes/rhythm/rhythm_main.c \
	probes/rhythm/rhythm_words.c probes/rhythm/rhythm_words.h
assay_rhythm_LDADD = libaccelcuda.a libaccel.a $(JUDGE_LIBS) $(PROBE_LIBS)
