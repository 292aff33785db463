# SPDX-License-Identifier: Apache-2.0
# The cluster on Kubernetes: included by Makefile.am after controller/local.mk.

# A part of assay-controller: needs all that this needs, and the HTTP client. libcontroller.a comes after it: what kube/
# uses of it is there.
if HAVE_SYSTEMD
if HAVE_SQLITE
if HAVE_MICROHTTPD
if HAVE_CURL
noinst_LIBRARIES += libkube.a
libkube_a_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
KUBE_LIBS = libkube.a $(HTTP_LIBS)

# requests
libkube_a_SOURCES = controller/kube/kube.h controller/kube/kube_call.c controller/kube/kube_config.c \
	controller/kube/kube_credentials.c controller/kube/kube_error.c controller/kube/kube_inside.h controller/kube/kube_lanes.c controller/kube/kube_lanes.h \
	controller/kube/kube_path.c
UNIT_TESTS += tests/unit/test_kube_config tests/unit/test_kube_credentials tests/unit/test_kube_error tests/unit/test_kube_path
tests_unit_test_kube_config_LDADD = libkube.a $(LDADD)
tests_unit_test_kube_credentials_LDADD = libkube.a $(HTTP_LIBS) $(LDADD)
tests_unit_test_kube_error_LDADD = libkube.a $(LDADD)
tests_unit_test_kube_path_LDADD = libkube.a $(LDADD)
noinst_PROGRAMS += tests/kube/kube_probe
tests_kube_kube_probe_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_kube_kube_probe_LDADD = $(KUBE_LIBS) libcontroller.a $(BASE_LIBS)

# fence
libkube_a_SOURCES += controller/kube/kube_lease.h controller/kube/kube_lease.c controller/kube/lease_state.h controller/kube/lease_state.c \
	controller/kube/kube_ledger.h controller/kube/kube_ledger.c controller/kube/budget_lease.h controller/kube/budget_lease.c
UNIT_TESTS += tests/unit/test_lease_state tests/unit/test_lease_random tests/unit/test_kube_lease tests/unit/test_kube_ledger
tests_unit_test_kube_lease_SOURCES = tests/unit/test_kube_lease.c tests/unit/lease_fake.c tests/unit/lease_fake.h
tests_unit_test_kube_lease_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_test_kube_lease_LDADD = libkube.a libcontroller.a $(LDADD) $(SYSTEMD_LIBS)
tests_unit_test_kube_ledger_SOURCES = tests/unit/test_kube_ledger.c tests/unit/lease_fake.c tests/unit/lease_fake.h
tests_unit_test_kube_ledger_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_test_kube_ledger_LDADD = libkube.a libcontroller.a $(LDADD) $(SYSTEMD_LIBS)
tests_unit_test_lease_state_SOURCES = tests/unit/test_lease_state.c tests/unit/lease_server.c tests/unit/lease_server.h
tests_unit_test_lease_state_LDADD = libkube.a $(LDADD)
tests_unit_test_lease_random_SOURCES = tests/unit/test_lease_random.c tests/unit/lease_server.c tests/unit/lease_server.h tests/unit/random.h
tests_unit_test_lease_random_LDADD = libkube.a $(LDADD)

# nodes
KUBE_NODES_SOURCES = controller/kube/kube_list.c controller/kube/kube_list.h controller/kube/kube_marks.c \
	controller/kube/kube_node.c controller/kube/kube_node.h controller/kube/kube_view.c controller/kube/kube_view.h \
	controller/kube/kube_watch.c controller/kube/kube_watch.h
libkube_a_SOURCES += $(KUBE_NODES_SOURCES)
UNIT_TESTS += tests/unit/test_kube_address
tests_unit_test_kube_address_LDADD = libkube.a libcontroller.a $(LDADD)
UNIT_TESTS += tests/unit/test_kube_node
tests_unit_test_kube_node_LDADD = libkube.a libcontroller.a $(LDADD)
# With a server of its own in the place of kube_send(): so these files, and not the library.
UNIT_TESTS += tests/unit/test_kube_stale tests/unit/test_kube_watch tests/unit/test_kube_watch_random
check_LIBRARIES += libkubefake.a
libkubefake_a_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
libkubefake_a_SOURCES = $(KUBE_NODES_SOURCES) tests/unit/kube_fake.c tests/unit/kube_fake.h tests/unit/kube_world.c tests/unit/kube_world.h
KUBE_FAKE_LIBS = libkubefake.a libcontroller.a $(LDADD) $(SYSTEMD_LIBS)
tests_unit_test_kube_stale_LDADD = $(KUBE_FAKE_LIBS)
tests_unit_test_kube_watch_LDADD = $(KUBE_FAKE_LIBS)
tests_unit_test_kube_watch_random_LDADD = $(KUBE_FAKE_LIBS)
noinst_PROGRAMS += tests/kube/kube_watcher
tests_kube_kube_watcher_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_kube_kube_watcher_LDADD = libkube.a libcontroller.a $(KUBE_LIBS) $(BASE_LIBS) $(SYSTEMD_LIBS)

# drain
libkube_a_SOURCES += controller/kube/kube_jobs.c controller/kube/kube_jobs.h controller/kube/kube_jobs_inside.h \
	controller/kube/kube_pods.c controller/kube/kube_pods.h controller/kube/kube_ranks.c \
	controller/kube/kube_drain.c controller/kube/kube_drain.h controller/kube/kube_drain_inside.h controller/kube/kube_evict.c \
	controller/kube/kube_pod_list.c controller/kube/kube_pod_list.h
noinst_PROGRAMS += tests/kube/kube_drain_probe
tests_kube_kube_drain_probe_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_kube_kube_drain_probe_LDADD = $(KUBE_LIBS) libcontroller.a $(JUDGE_LIBS) $(BASE_LIBS) $(SYSTEMD_LIBS)
UNIT_TESTS += tests/unit/test_kube_drain tests/unit/test_kube_jobs tests/unit/test_kube_pods
tests_unit_test_kube_drain_SOURCES = tests/unit/test_kube_drain.c tests/unit/drain_server.c tests/unit/drain_server.h
tests_unit_test_kube_drain_LDADD = $(KUBE_LIBS) libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_kube_jobs_LDADD = $(KUBE_LIBS) $(JUDGE_LIBS) $(LDADD)
tests_unit_test_kube_pods_LDADD = $(KUBE_LIBS) $(JUDGE_LIBS) $(LDADD)

# the cluster: what is written to nodes
libkube_a_SOURCES += controller/kube/cluster_kube.c controller/kube/cluster_kube.h controller/kube/cluster_kube_change.c \
	controller/kube/cluster_kube_confirm.c controller/kube/cluster_kube_inside.h controller/kube/cluster_kube_seen.c controller/kube/kube_event.c controller/kube/kube_event.h \
	controller/kube/kube_heart.c controller/kube/kube_heart.h controller/kube/kube_patch.c controller/kube/kube_patch.h
UNIT_TESTS += tests/unit/test_kube_patch tests/unit/test_kube_prefix tests/unit/test_cluster_kube tests/unit/test_cluster_kube_random tests/unit/test_cluster_kube_told
tests_unit_test_kube_patch_LDADD = $(KUBE_LIBS) libcontroller.a $(LDADD)
tests_unit_test_kube_prefix_LDADD = $(KUBE_LIBS) libcontroller.a $(LDADD)
KUBE_WORLD = tests/unit/cluster_world.c tests/unit/cluster_world.h tests/unit/kube_memory.c tests/unit/kube_memory.h
tests_unit_test_cluster_kube_SOURCES = tests/unit/test_cluster_kube.c $(KUBE_WORLD)
tests_unit_test_cluster_kube_LDADD = $(KUBE_LIBS) libcontroller.a $(LDADD) $(SYSTEMD_LIBS)
tests_unit_test_cluster_kube_random_SOURCES = tests/unit/test_cluster_kube_random.c tests/unit/random.h $(KUBE_WORLD)
tests_unit_test_cluster_kube_random_LDADD = $(KUBE_LIBS) libcontroller.a $(LDADD) $(SYSTEMD_LIBS)
tests_unit_test_cluster_kube_told_SOURCES = tests/unit/test_cluster_kube_told.c $(KUBE_WORLD)
tests_unit_test_cluster_kube_told_LDADD = $(KUBE_LIBS) libcontroller.a $(LDADD) $(SYSTEMD_LIBS)

# identity
libkube_a_SOURCES += controller/kube/kube_identity.c controller/kube/kube_identity.h controller/kube/kube_identity_inside.h \
	controller/kube/kube_identity_kept.c controller/kube/kube_token.c controller/kube/kube_token.h
UNIT_TESTS += tests/unit/test_kube_identity tests/unit/test_kube_identity_flood tests/unit/test_kube_token
IDENTITY_WORLD = tests/unit/identity_world.c tests/unit/identity_world.h tests/unit/jwt.c tests/unit/jwt.h
tests_unit_test_kube_identity_SOURCES = tests/unit/test_kube_identity.c $(IDENTITY_WORLD)
tests_unit_test_kube_identity_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_test_kube_identity_LDADD = $(KUBE_LIBS) $(CONTROLLER_LIBS) $(LDADD)
tests_unit_test_kube_identity_flood_SOURCES = tests/unit/test_kube_identity_flood.c $(IDENTITY_WORLD)
tests_unit_test_kube_identity_flood_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_unit_test_kube_identity_flood_LDADD = $(KUBE_LIBS) $(CONTROLLER_LIBS) $(LDADD)
tests_unit_test_kube_token_SOURCES = tests/unit/test_kube_token.c tests/unit/jwt.c tests/unit/jwt.h
tests_unit_test_kube_token_LDADD = $(KUBE_LIBS) $(CONTROLLER_LIBS) $(LDADD)
endif
endif
endif
endif

EXTRA_DIST += tests/kube/test_call.py tests/system/kube_fake.py tests/system/test_kube_call.py # requests
EXTRA_DIST += tests/kube/test_nodes.py # nodes
EXTRA_DIST += tests/kube/test_drain.py # drain
