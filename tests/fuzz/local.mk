# SPDX-License-Identifier: Apache-2.0
# tests/fuzz: arbitrary input. Included by Makefile.am.
check_LIBRARIES += libfuzz.a
libfuzz_a_SOURCES = tests/fuzz/fuzz.c tests/fuzz/fuzz.h
FUZZ_TARGETS = tests/fuzz/fuzz_ctl tests/fuzz/fuzz_delivery tests/fuzz/fuzz_firmware tests/fuzz/fuzz_kmsg \
	tests/fuzz/fuzz_orders tests/fuzz/fuzz_probe_output tests/fuzz/fuzz_rnic tests/fuzz/fuzz_spool tests/fuzz/fuzz_state \
	tests/fuzz/fuzz_topology tests/fuzz/fuzz_watch
FUZZ_TARGETS += tests/fuzz/fuzz_pair tests/fuzz/fuzz_reduce tests/fuzz/fuzz_trace
FUZZ_TARGETS += tests/fuzz/fuzz_pickle
tests_fuzz_fuzz_pickle_LDADD = $(HANG_LIBS) $(FUZZ_LIBS)

# The seeds are a folder: dist_check.py checks that none is missing.
EXTRA_DIST += tests/fuzz/api.dict tests/fuzz/corpus tests/fuzz/coverage_codec.dict tests/fuzz/ctl.dict \
	tests/fuzz/delivery.dict tests/fuzz/firmware.dict tests/fuzz/fuzz_api.c tests/fuzz/fuzz_coverage_codec.c \
	tests/fuzz/fuzz_http_answer.c tests/fuzz/fuzz_kube_answer.c tests/fuzz/fuzz_kube_token.c \
	tests/fuzz/fuzz_kube_watch.c tests/fuzz/fuzz_kubeconfig.c tests/fuzz/fuzz_pack.c tests/fuzz/fuzz_report.c \
	tests/fuzz/fuzz_summary.c tests/fuzz/fuzz_words.c tests/fuzz/fuzz_yaml.c tests/fuzz/http_answer.dict tests/fuzz/kmsg.dict \
	tests/fuzz/kube_answer.dict tests/fuzz/kube_watch.dict tests/fuzz/kubeconfig.dict tests/fuzz/orders.dict \
	tests/fuzz/pair.dict tests/fuzz/probe_output.dict tests/fuzz/replay.c tests/fuzz/report.dict \
	tests/fuzz/spool.dict tests/fuzz/state.dict tests/fuzz/summary.dict tests/fuzz/topology.dict tests/fuzz/trace.dict \
	tests/fuzz/watch.dict tests/fuzz/words.dict tests/fuzz/yaml.dict
check_PROGRAMS += $(FUZZ_TARGETS)
if !FUZZERS
libfuzz_a_SOURCES += tests/fuzz/replay.c
TESTS += $(FUZZ_TARGETS)
endif
FUZZ_LIBS = libfuzz.a $(BASE_LIBS) $(FUZZ_ENGINE)
tests_fuzz_fuzz_ctl_LDADD = $(CTL_LIBS) $(FUZZ_LIBS)
tests_fuzz_fuzz_delivery_LDADD = libassaydcore.a $(GZIP_LIBS) $(FUZZ_LIBS)
tests_fuzz_fuzz_orders_LDADD = libassaydcore.a $(GZIP_LIBS) $(FUZZ_LIBS)
tests_fuzz_fuzz_firmware_LDADD = libhost_state.a libprobe.a $(FUZZ_LIBS)
tests_fuzz_fuzz_kmsg_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_POLICY_DIR='"$(abs_srcdir)/policies"'
tests_fuzz_fuzz_kmsg_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_pair_LDADD = librnic_pair.a libloopback.a librdma.a librnic_state.a libmemory.a libaccel.a $(TOPOLOGY_LIBS) libprobe.a \
	$(FUZZ_LIBS)
tests_fuzz_fuzz_reduce_LDADD = liball_reduce.a libcoll.a librnic_pair.a libloopback.a librdma.a librnic_state.a libmemory.a libaccel.a $(TOPOLOGY_LIBS) \
	libprobe.a $(FUZZ_LIBS)
tests_fuzz_fuzz_probe_output_LDADD = libagent.a $(FUZZ_LIBS)
tests_fuzz_fuzz_rnic_LDADD = librnic_state.a libprobe.a $(FUZZ_LIBS)
tests_fuzz_fuzz_spool_LDADD = $(KEEP_LIBS) $(FUZZ_LIBS)
tests_fuzz_fuzz_state_LDADD = libcommands.a $(KEEP_LIBS) $(FUZZ_LIBS)
tests_fuzz_fuzz_watch_LDADD = libassaydcore.a libcommands.a $(KEEP_LIBS) $(FUZZ_LIBS)
tests_fuzz_fuzz_topology_LDADD = $(TOPOLOGY_LIBS) $(FUZZ_LIBS)
tests_fuzz_fuzz_trace_LDADD = $(TRACE_LIBS) $(FUZZ_LIBS)
if HAVE_SYSTEMD
if HAVE_CURL
FUZZ_TARGETS += tests/fuzz/fuzz_http_answer
tests_fuzz_fuzz_http_answer_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
tests_fuzz_fuzz_http_answer_LDADD = $(HTTP_LIBS) $(FUZZ_LIBS)
endif
if HAVE_SQLITE
if HAVE_MICROHTTPD
FUZZ_TARGETS += tests/fuzz/fuzz_api tests/fuzz/fuzz_coverage_codec tests/fuzz/fuzz_report tests/fuzz/fuzz_summary \
	tests/fuzz/fuzz_words tests/fuzz/fuzz_yaml
FUZZ_CONTROLLER = $(CONTROLLER_LIBS) $(FUZZ_LIBS)
tests_fuzz_fuzz_api_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS) $(MICROHTTPD_CFLAGS)
tests_fuzz_fuzz_api_LDADD = $(FUZZ_CONTROLLER)
tests_fuzz_fuzz_report_LDADD = $(FUZZ_CONTROLLER)
tests_fuzz_fuzz_coverage_codec_LDADD = $(FUZZ_CONTROLLER)
tests_fuzz_fuzz_summary_LDADD = $(FUZZ_CONTROLLER)
tests_fuzz_fuzz_words_LDADD = $(TOPOLOGY_LIBS) $(FUZZ_CONTROLLER)
tests_fuzz_fuzz_yaml_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
tests_fuzz_fuzz_yaml_LDADD = libassaydcore.a libcommands.a libhost_state.a libprobe.a \
	$(GZIP_LIBS) $(FUZZ_CONTROLLER)
if HAVE_CURL
FUZZ_TARGETS += tests/fuzz/fuzz_kube_answer tests/fuzz/fuzz_kubeconfig
tests_fuzz_fuzz_kube_answer_LDADD = libkube.a $(FUZZ_LIBS)
tests_fuzz_fuzz_kubeconfig_LDADD = libkube.a $(FUZZ_LIBS)

# Replaces kube_send() with its own server.
FUZZ_TARGETS += tests/fuzz/fuzz_kube_watch
tests_fuzz_fuzz_kube_watch_CPPFLAGS = $(AM_CPPFLAGS) $(SYSTEMD_CFLAGS)
tests_fuzz_fuzz_kube_watch_SOURCES = $(KUBE_NODES_SOURCES) tests/fuzz/fuzz_kube_watch.c
tests_fuzz_fuzz_kube_watch_LDADD = libcontroller.a $(FUZZ_LIBS) $(SYSTEMD_LIBS)
FUZZ_TARGETS += tests/fuzz/fuzz_kube_token
tests_fuzz_fuzz_kube_token_SOURCES = tests/fuzz/fuzz_kube_token.c tests/unit/jwt.c tests/unit/jwt.h
tests_fuzz_fuzz_kube_token_LDADD = $(KUBE_LIBS) $(FUZZ_CONTROLLER)
endif
if HAVE_ZLIB
FUZZ_TARGETS += tests/fuzz/fuzz_gzip
tests_fuzz_fuzz_gzip_SOURCES = tests/fuzz/fuzz_pack.c
tests_fuzz_fuzz_gzip_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CODING=PACK_GZIP
tests_fuzz_fuzz_gzip_LDADD = $(FUZZ_CONTROLLER)
endif
if HAVE_ZSTD
FUZZ_TARGETS += tests/fuzz/fuzz_zstd
tests_fuzz_fuzz_zstd_SOURCES = tests/fuzz/fuzz_pack.c
tests_fuzz_fuzz_zstd_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_CODING=PACK_ZSTD
tests_fuzz_fuzz_zstd_LDADD = $(FUZZ_CONTROLLER)
endif
endif
endif
endif

# Data of hung jobs: RAS, py-spy.
FUZZ_TARGETS += tests/fuzz/fuzz_ras tests/fuzz/fuzz_stack
EXTRA_DIST += tests/fuzz/ras.dict tests/fuzz/stack.dict
tests_fuzz_fuzz_ras_LDADD = $(HANG_LIBS) $(FUZZ_LIBS)
tests_fuzz_fuzz_stack_LDADD = $(HANG_LIBS) $(FUZZ_LIBS)
# Rings of the NCCL plug-in.
FUZZ_TARGETS += tests/fuzz/fuzz_ring
tests_fuzz_fuzz_ring_LDADD = libassaydcore.a $(RING_LIBS) $(FUZZ_LIBS)

# The names of the targets of this build, for scripts/test.
.PHONY: fuzz-targets
fuzz-targets:
	@echo $(FUZZ_TARGETS)
