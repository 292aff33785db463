# SPDX-License-Identifier: Apache-2.0
# controller/cluster/kube: Kubernetes: requests, watch, Lease, drain, token review. Included by Makefile.am.
libkube_a_SOURCES = $(KUBE_AUTH_SOURCES) $(KUBE_NODES_SOURCES) controller/cluster/kube/budget_lease.c \
	controller/cluster/kube/budget_lease.h controller/cluster/kube/cluster_kube.c controller/cluster/kube/cluster_kube.h \
	controller/cluster/kube/kube.c controller/cluster/kube/kube.h controller/cluster/kube/kube_condition.c \
	controller/cluster/kube/kube_condition.h controller/cluster/kube/kube_config.c controller/cluster/kube/kube_config.h \
	controller/cluster/kube/kube_credentials.c controller/cluster/kube/kube_credentials.h controller/cluster/kube/kube_drain.c \
	controller/cluster/kube/kube_drain.h \
	controller/cluster/kube/kube_error.c controller/cluster/kube/kube_error.h controller/cluster/kube/kube_event.c controller/cluster/kube/kube_event.h \
	controller/cluster/kube/kube_evict.c controller/cluster/kube/kube_evict.h \
	controller/cluster/kube/kube_jobs.c controller/cluster/kube/kube_jobs.h controller/cluster/kube/kube_lanes.c \
	controller/cluster/kube/kube_lanes.h controller/cluster/kube/kube_lease.c controller/cluster/kube/kube_lease.h \
	controller/cluster/kube/kube_ledger.c controller/cluster/kube/kube_ledger.h controller/cluster/kube/kube_patch.c \
	controller/cluster/kube/kube_patch.h controller/cluster/kube/kube_path.c controller/cluster/kube/kube_path.h \
	controller/cluster/kube/kube_placement.c \
	controller/cluster/kube/kube_placement.h controller/cluster/kube/kube_places.c controller/cluster/kube/kube_places.h \
	controller/cluster/kube/kube_pod_list.c \
	controller/cluster/kube/kube_pod_list.h controller/cluster/kube/kube_pods.c controller/cluster/kube/kube_pods.h \
	controller/cluster/kube/kube_round.c controller/cluster/kube/kube_round.h controller/cluster/kube/lease_state.c \
	controller/cluster/kube/lease_state.h
KUBE_NODES_SOURCES = controller/cluster/kube/kube_list.c controller/cluster/kube/kube_list.h \
	controller/cluster/kube/kube_node.c controller/cluster/kube/kube_node.h \
	controller/cluster/kube/kube_view.c controller/cluster/kube/kube_view.h controller/cluster/kube/kube_watch.c \
	controller/cluster/kube/kube_watch.h
if HAVE_SYSTEMD
if HAVE_SQLITE
if HAVE_MICROHTTPD
if HAVE_CURL
# A part of assay-controller: needs all its libraries, and the HTTP client. Link it before libcontroller.a, which it uses.
noinst_LIBRARIES += libkube.a
libkube_a_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
KUBE_LIBS = libkube.a $(HTTP_LIBS)
endif
endif
endif
endif
