# SPDX-License-Identifier: Apache-2.0
# probes/rnic_pair: assay-probe-rnic-pair. Included by Makefile.am.
noinst_LIBRARIES += librnic_pair.a
librnic_pair_a_SOURCES = probes/rnic_pair/pair.h probes/rnic_pair/pair_apart.c probes/rnic_pair/pair_apart.h \
	probes/rnic_pair/pair_connect.c probes/rnic_pair/pair_connect.h probes/rnic_pair/pair_follow.c probes/rnic_pair/pair_follow.h \
	probes/rnic_pair/pair_gpu.c probes/rnic_pair/pair_gpu.h \
	probes/rnic_pair/pair_guard.c probes/rnic_pair/pair_guard.h probes/rnic_pair/pair_lanes.c \
	probes/rnic_pair/pair_lanes.h probes/rnic_pair/pair_lead.c probes/rnic_pair/pair_lead.h probes/rnic_pair/pair_lost.c \
	probes/rnic_pair/pair_lost.h probes/rnic_pair/pair_measure.c probes/rnic_pair/pair_measure.h probes/rnic_pair/pair_message.c \
	probes/rnic_pair/pair_message.h probes/rnic_pair/pair_peer.c probes/rnic_pair/pair_peer.h \
	probes/rnic_pair/pair_plan.c probes/rnic_pair/pair_plan.h probes/rnic_pair/pair_rails.c probes/rnic_pair/pair_rails.h \
	probes/rnic_pair/pair_rounds.c probes/rnic_pair/pair_rounds.h probes/rnic_pair/pair_run.c probes/rnic_pair/pair_run.h \
	probes/rnic_pair/pair_sample.c probes/rnic_pair/pair_sample.h probes/rnic_pair/pair_schedule.c \
	probes/rnic_pair/pair_schedule.h probes/rnic_pair/pair_session.c probes/rnic_pair/pair_session.h \
	probes/rnic_pair/pair_side.c probes/rnic_pair/pair_side.h probes/rnic_pair/pair_step.c probes/rnic_pair/pair_step.h \
	probes/rnic_pair/pair_verdict.c probes/rnic_pair/pair_verdict.h \
	probes/rnic_pair/pair_ways.c probes/rnic_pair/pair_ways.h
# Pairs over libibverbs, whose memory may be on GPUs.
PAIR_LIBS = librnic_pair.a libloopback.a librdmaverbs.a librdma.a librnic_state.a libmemory.a libaccelcuda.a libaccel.a
if HAVE_VERBS
probes_PROGRAMS += assay-probe-rnic-pair
assay_probe_rnic_pair_SOURCES = probes/rnic_pair/pair_main.c
assay_probe_rnic_pair_LDADD = $(PAIR_LIBS) $(TOPOLOGY_LIBS) \
	$(PROBE_LIBS)
endif
EXTRA_DIST += probes/rnic_pair/pair_main.c
