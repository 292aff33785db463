# SPDX-License-Identifier: Apache-2.0
# probes/all_reduce: assay-probe-all-reduce. Included by Makefile.am.
noinst_LIBRARIES += liball_reduce.a
liball_reduce_a_SOURCES = probes/all_reduce/reduce.h probes/all_reduce/reduce_emit.c probes/all_reduce/reduce_emit.h \
	probes/all_reduce/reduce_follow.c probes/all_reduce/reduce_follow.h \
	probes/all_reduce/reduce_guard.c probes/all_reduce/reduce_guard.h probes/all_reduce/reduce_lead.c probes/all_reduce/reduce_lead.h \
	probes/all_reduce/reduce_meet.c probes/all_reduce/reduce_meet.h probes/all_reduce/reduce_message.c probes/all_reduce/reduce_message.h \
	probes/all_reduce/reduce_nccl.c probes/all_reduce/reduce_nccl.h probes/all_reduce/reduce_part.c probes/all_reduce/reduce_part.h probes/all_reduce/reduce_permit.c probes/all_reduce/reduce_permit.h \
	probes/all_reduce/reduce_run.c probes/all_reduce/reduce_run.h probes/all_reduce/reduce_tally.c probes/all_reduce/reduce_tally.h
EXTRA_DIST += probes/all_reduce/all_reduce_main.c
if HAVE_VERBS
probes_PROGRAMS += assay-probe-all-reduce
assay_probe_all_reduce_SOURCES = probes/all_reduce/all_reduce_main.c
assay_probe_all_reduce_LDADD = liball_reduce.a libcollnccl.a libcoll.a $(PAIR_LIBS) $(TOPOLOGY_LIBS) $(PROBE_LIBS)
endif
