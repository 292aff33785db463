# SPDX-License-Identifier: Apache-2.0
# lib/remedy: remedies for a job with a bad host, their cost and gain (pure). Included by Makefile.am.
noinst_LIBRARIES += libremedy.a
libremedy_a_SOURCES = lib/remedy/counts.h lib/remedy/distribute.c lib/remedy/distribute.h \
	lib/remedy/hotspa.c lib/remedy/hotspa.h lib/remedy/hotspa_cost.c lib/remedy/hotspa_cost.h lib/remedy/hotspa_plan.c lib/remedy/hotspa_plan.h \
	lib/remedy/hotspa_switch.c lib/remedy/hotspa_switch.h \
	lib/remedy/layers.c lib/remedy/layers.h lib/remedy/layers_cut.c lib/remedy/layers_cut.h \
	lib/remedy/oobleck.c lib/remedy/oobleck.h lib/remedy/pipe_1f1b.c lib/remedy/pipe_1f1b.h \
	lib/remedy/pipe_packs.c lib/remedy/pipe_packs.h \
	lib/remedy/pipe_schedule.c lib/remedy/pipe_schedule.h lib/remedy/pipeline.c lib/remedy/pipeline.h \
	lib/remedy/rearrange.c lib/remedy/rearrange.h lib/remedy/reconfigure.c lib/remedy/reconfigure.h \
	lib/remedy/remedies.c lib/remedy/remedies.h lib/remedy/replicas.c lib/remedy/replicas.h \
	lib/remedy/shrink.c lib/remedy/shrink.h lib/remedy/split.c lib/remedy/split.h \
	lib/remedy/standby.c lib/remedy/standby.h
REMEDY_LIBS = libremedy.a
