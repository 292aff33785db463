# SPDX-License-Identifier: Apache-2.0
# probes/loopback: assay-probe-loopback. Included by Makefile.am.
noinst_LIBRARIES += libloopback.a
libloopback_a_SOURCES = probes/loopback/data.c probes/loopback/data.h probes/loopback/loopback.h \
	probes/loopback/loopback_answers.c probes/loopback/loopback_answers.h probes/loopback/loopback_cell.c \
	probes/loopback/loopback_gpu.c probes/loopback/loopback_gpu.h probes/loopback/loopback_known.c \
	probes/loopback/loopback_known.h probes/loopback/loopback_mesh.c probes/loopback/loopback_mesh.h probes/loopback/loopback_progress.c \
	probes/loopback/loopback_progress.h probes/loopback/loopback.c probes/loopback/session.c \
	probes/loopback/session.h
if HAVE_VERBS
probes_PROGRAMS += assay-probe-loopback
assay_probe_loopback_SOURCES = probes/loopback/loopback_main.c
assay_probe_loopback_LDADD = libloopback.a librdmaverbs.a librdma.a librnic_state.a libmemory.a libaccelcuda.a libaccel.a $(JUDGE_LIBS) $(TOPOLOGY_LIBS) $(PROBE_LIBS)
endif
