# SPDX-License-Identifier: Apache-2.0
# A real API server without containers, and the tests against it: included by Makefile.am.
EXTRA_DIST += tests/kube/acting.py tests/kube/api.py tests/kube/apiserver.py tests/kube/audit.py tests/kube/build_apiserver tests/kube/chaos.py \
	tests/kube/conftest.py tests/kube/kubelet.py tests/kube/run tests/kube/server.py
EXTRA_DIST += tests/kube/test_fence.py # fence
EXTRA_DIST += tests/bench/bench_kube_action.py tests/kube/test_chaos.py tests/kube/test_campaign.py tests/kube/test_end_to_end.py tests/kube/test_server.py
EXTRA_DIST += tests/kube/test_drain_whole.py tests/kube/test_hands.py # people and drains
EXTRA_DIST += tests/kube/test_ops.py # the cluster
EXTRA_DIST += tests/kube/test_dry_run.py tests/kube/test_startup.py
EXTRA_DIST += tests/bench/bench_identity.py tests/kube/test_identity.py # identity
