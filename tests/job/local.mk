# SPDX-License-Identifier: Apache-2.0
# tests/job: a real training job with one slow host. Included by Makefile.am.
EXTRA_DIST += tests/job/hang tests/job/host_blas.c tests/job/hosts.py tests/job/job.py tests/job/loop tests/job/neighbour.py tests/job/run \
	tests/job/train.py
