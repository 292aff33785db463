# SPDX-License-Identifier: Apache-2.0
# tests/bench: speed against independent yardsticks. Included by Makefile.am.
if HAVE_CBLAS
BENCHES += tests/bench/gemm_plain
tests_bench_gemm_plain_SOURCES = tests/bench/gemm_plain.c
tests_bench_gemm_plain_CFLAGS = $(AM_CFLAGS) $(CBLAS_CFLAGS)
tests_bench_gemm_plain_LDADD = $(CBLAS_LIBS)
endif
if HAVE_SYSTEMD
if HAVE_SQLITE
if HAVE_MICROHTTPD
BENCHES += tests/bench/judge_hang
tests_bench_judge_hang_SOURCES = tests/bench/judge_hang.c
tests_bench_judge_hang_LDADD = $(CONTROLLER_LIBS) $(JUDGE_LIBS) $(BASE_LIBS)
tests_bench_judge_hang_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
endif
endif
endif
BENCHES += tests/bench/plan_remedies
tests_bench_plan_remedies_SOURCES = tests/bench/plan_remedies.c
tests_bench_plan_remedies_LDADD = libremedy.a $(BASE_LIBS)
BENCHES += tests/bench/send_reports
tests_bench_send_reports_SOURCES = tests/bench/send_reports.c
tests_bench_send_reports_LDADD =
BENCHES += tests/bench/stream_like
tests_bench_stream_like_SOURCES = tests/bench/stream_like.c
tests_bench_stream_like_LDADD =
EXTRA_DIST += tests/bench/bench_action.py tests/bench/bench_admit.py tests/bench/bench_assayd.py \
	tests/bench/bench_attribute.py tests/bench/bench_connections.py tests/bench/bench_controller.py \
	tests/bench/bench_drain.py tests/bench/bench_gemm.py tests/bench/bench_groups.py tests/bench/bench_guest.py tests/bench/bench_hang.py tests/bench/bench_identity.py tests/bench/bench_investigation.py tests/bench/bench_jobs.py \
	tests/bench/bench_kube_action.py tests/bench/bench_memory.py tests/bench/bench_metrics.py tests/bench/bench_nccl.py tests/bench/bench_no_gpu.py tests/bench/bench_page.py tests/bench/bench_page_off.py tests/bench/bench_readers.py \
	tests/bench/bench_restart.py tests/bench/bench_routes.py tests/bench/bench_upload.py tests/bench/bench_watchers.py tests/bench/run \
	tests/bench/store_days.py

# Against perftest, in one guest.
.PHONY: bench-guest
bench-guest: all
	/usr/bin/python3 $(srcdir)/tests/bench/bench_guest.py $(abs_builddir)

# Reports per second, and a fleet that reconnects at once, including the generator; on a quiet host.
.PHONY: bench-controller
bench-controller: all
	/usr/bin/python3 $(srcdir)/tests/bench/bench_controller.py $(abs_builddir) --seconds 60
	/usr/bin/python3 $(srcdir)/tests/bench/bench_controller.py $(abs_builddir) --burst 10000

# From a bad report to its cordon under load; on a quiet host.
.PHONY: bench-action
bench-action: all
	/usr/bin/python3 $(srcdir)/tests/bench/bench_action.py $(abs_builddir)

# Duration of a restart with a store of 10,000 hosts and a month: 8 GB in $ASSAY_BENCH_DIR.
.PHONY: bench-restart
bench-restart: all
	/usr/bin/python3 $(srcdir)/tests/bench/bench_restart.py $(abs_builddir)
	/usr/bin/python3 $(srcdir)/tests/bench/bench_routes.py $(abs_builddir)
	/usr/bin/python3 $(srcdir)/tests/bench/bench_metrics.py $(abs_builddir)

# The cost of 10,000 hosts and 1,000 held connections.
.PHONY: bench-connections
bench-connections: all
	/usr/bin/python3 $(srcdir)/tests/bench/bench_connections.py $(abs_builddir)

BENCHES += tests/bench/simulate_alone tests/bench/sum_bytes
tests_bench_simulate_alone_SOURCES = tests/bench/simulate_alone.c
tests_bench_simulate_alone_LDADD = $(TRACE_LIBS)

# Speed against independent yardsticks: tests/bench/bench_*.py, programs in BENCHES.
EXTRA_PROGRAMS += $(BENCHES)
CLEANFILES += $(BENCHES)
