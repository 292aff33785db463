# SPDX-License-Identifier: Apache-2.0
# probes/rdma: RDMA engine, flows, meshes. Included by Makefile.am.

# Code that does not use the library: built and tested without libibverbs too.
noinst_LIBRARIES += librdma.a
librdma_a_SOURCES = probes/rdma/bond.c probes/rdma/bond.h probes/rdma/core_keep.c probes/rdma/core_keep.h probes/rdma/flow.c probes/rdma/flow.h \
	probes/rdma/flow_drive.h probes/rdma/flow_latency.c probes/rdma/flow_latency.h probes/rdma/flow_many.c probes/rdma/flow_many.h \
	probes/rdma/flow_sink.c probes/rdma/flow_sink.h probes/rdma/flow_watch.c probes/rdma/flow_watch.h probes/rdma/gid.c \
	probes/rdma/gid.h probes/rdma/mesh.c probes/rdma/mesh.h probes/rdma/mesh_groups.c probes/rdma/mesh_groups.h \
	probes/rdma/mesh_low.c probes/rdma/mesh_low.h \
	probes/rdma/mesh_quick.c probes/rdma/mesh_quick.h probes/rdma/mesh_topology.c probes/rdma/mesh_topology.h \
	probes/rdma/oob.c probes/rdma/oob.h probes/rdma/oob_lookup.c probes/rdma/oob_lookup.h \
	probes/rdma/oob_wire.c probes/rdma/oob_wire.h probes/rdma/options.c probes/rdma/options.h probes/rdma/port_guard.c \
	probes/rdma/port_guard.h probes/rdma/ports.c probes/rdma/ports.h probes/rdma/rdma.h probes/rdma/region_accel.c \
	probes/rdma/region_accel.h probes/rdma/site.c probes/rdma/site.h probes/rdma/traffic.c probes/rdma/traffic.h \
	probes/rdma/users.c probes/rdma/users.h probes/rdma/words.c \
	probes/rdma/words.h
librdmaverbs_a_SOURCES = probes/rdma/ticks.c probes/rdma/ticks.h probes/rdma/verbs.c probes/rdma/verbs.h \
	probes/rdma/verbs_calls.c probes/rdma/verbs_calls.h probes/rdma/verbs_kind.c probes/rdma/verbs_kind.h \
	probes/rdma/verbs_post.c probes/rdma/verbs_post.h probes/rdma/verbs_queue.c probes/rdma/verbs_queue.h
if HAVE_VERBS
noinst_LIBRARIES += librdmaverbs.a
librdmaverbs_a_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS)
endif
