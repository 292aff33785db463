# SPDX-License-Identifier: Apache-2.0
# probes/coll: collectives: NCCL, and its simulated replacement. Included by Makefile.am.
noinst_LIBRARIES += libcoll.a
libcoll_a_SOURCES = probes/coll/blame.c probes/coll/blame.h probes/coll/coll.c probes/coll/coll.h \
	probes/coll/coll_data.c probes/coll/coll_data.h probes/coll/ring.c probes/coll/ring.h probes/coll/verbs.c probes/coll/verbs.h \
	probes/coll/verbs_exchange.c probes/coll/verbs_exchange.h
noinst_LIBRARIES += libcollnccl.a
libcollnccl_a_SOURCES = probes/coll/nccl.c probes/coll/nccl.h probes/coll/nccl_abi.h probes/coll/nccl_comm.c \
	probes/coll/nccl_comm.h probes/coll/nccl_hang.c probes/coll/nccl_hang.h probes/coll/nccl_load.c probes/coll/nccl_load.h
