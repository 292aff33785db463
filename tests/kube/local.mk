# SPDX-License-Identifier: Apache-2.0
# tests/kube: pytest, a real API server. Included by Makefile.am.
EXTRA_DIST += tests/kube/acting.py tests/kube/api.py tests/kube/apiserver.py tests/kube/audit.py \
	tests/kube/build_apiserver tests/kube/chaos.py tests/kube/conftest.py tests/kube/investigation_cell.py tests/kube/kubelet.py tests/kube/run \
	tests/kube/server.py tests/kube/test_call.py tests/kube/test_campaign.py tests/kube/test_chaos.py \
	tests/kube/test_deploy.py tests/kube/test_drain.py tests/kube/test_drain_whole.py tests/kube/test_dry_run.py \
	tests/kube/test_end_to_end.py tests/kube/test_fence.py tests/kube/test_hands.py tests/kube/test_identity.py tests/kube/test_join_standby.py \
	tests/kube/test_investigation_faults.py tests/kube/test_job_owner.py tests/kube/test_job_stopped.py \
	tests/kube/test_nodes.py tests/kube/test_ops.py tests/kube/test_placement_pods.py tests/kube/test_scheduler.py tests/kube/test_server.py \
	tests/kube/test_alerts_takeover.py tests/kube/test_startup.py tests/kube/test_takeover.py tests/kube/test_tutorial_kube.py
if HAVE_SYSTEMD
if HAVE_SQLITE
if HAVE_MICROHTTPD
if HAVE_CURL
noinst_PROGRAMS += tests/kube/kube_probe
tests_kube_kube_probe_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_kube_kube_probe_LDADD = $(KUBE_LIBS) libcontroller.a $(BASE_LIBS)
noinst_PROGRAMS += tests/kube/kube_watcher
tests_kube_kube_watcher_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_kube_kube_watcher_LDADD = libkube.a libcontroller.a $(KUBE_LIBS) $(BASE_LIBS) $(SYSTEMD_LIBS)
noinst_PROGRAMS += tests/kube/kube_drain_probe
tests_kube_kube_drain_probe_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
tests_kube_kube_drain_probe_LDADD = $(KUBE_LIBS) libcontroller.a $(JUDGE_LIBS) $(BASE_LIBS) $(SYSTEMD_LIBS)
endif
endif
endif
endif
