# SPDX-License-Identifier: Apache-2.0
# probes/all_to_all: assay-probe-all-to-all. Included by Makefile.am.
noinst_LIBRARIES += liball_to_all.a
liball_to_all_a_SOURCES = probes/all_to_all/all_to_all.c probes/all_to_all/all_to_all.h probes/all_to_all/all_to_all_gpus.c \
	probes/all_to_all/all_to_all_gpus.h \
	probes/all_to_all/all_to_all_pairs.c probes/all_to_all/all_to_all_pairs.h probes/all_to_all/all_to_all_rate.c probes/all_to_all/all_to_all_rate.h \
	probes/all_to_all/all_to_all_rnics.c probes/all_to_all/all_to_all_rnics.h probes/all_to_all/all_to_all_run.c probes/all_to_all/all_to_all_run.h
probes_PROGRAMS += assay-probe-all-to-all
assay_probe_all_to_all_SOURCES = probes/all_to_all/all_to_all_main.c probes/all_to_all/all_to_all_options.h \
	probes/all_to_all/all_to_all_start.c probes/all_to_all/all_to_all_start.h
ALL_TO_ALL_LIBS = liball_to_all.a libcollnccl.a libcoll.a librnic_pair.a libloopback.a libaccelcuda.a libaccel.a
EXTRA_DIST += probes/all_to_all/all_to_all_verbs.c probes/all_to_all/all_to_all_verbs_none.c
if HAVE_VERBS
assay_probe_all_to_all_SOURCES += probes/all_to_all/all_to_all_verbs.c
assay_probe_all_to_all_LDADD = $(ALL_TO_ALL_LIBS) librdmaverbs.a librdma.a librnic_state.a libmemory.a \
	$(JUDGE_LIBS) $(TOPOLOGY_LIBS) $(PROBE_LIBS)
else
assay_probe_all_to_all_SOURCES += probes/all_to_all/all_to_all_verbs_none.c
assay_probe_all_to_all_LDADD = $(ALL_TO_ALL_LIBS) librdma.a librnic_state.a libmemory.a \
	$(JUDGE_LIBS) $(TOPOLOGY_LIBS) $(PROBE_LIBS)
endif
