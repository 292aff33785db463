# SPDX-License-Identifier: Apache-2.0
# assay-attribute: included by Makefile.am. A library of its own: the controller links none of it.

noinst_LIBRARIES += libattribution.a
libattribution_a_SOURCES = \
	controller/attribution/align.c controller/attribution/align.h \
	controller/attribution/attribution.c controller/attribution/attribution.h \
	controller/attribution/balance.c controller/attribution/balance.h \
	controller/attribution/cause.c controller/attribution/cause.h \
	controller/attribution/cost.c controller/attribution/cost.h \
	controller/attribution/crew.c controller/attribution/crew.h \
	controller/attribution/document.c controller/attribution/forms.c controller/attribution/forms.h \
	controller/attribution/graph.c controller/attribution/graph.h \
	controller/attribution/graph_draft.h controller/attribution/graph_order.c \
	controller/attribution/graph_pipeline.c \
	controller/attribution/hints.c controller/attribution/hints.h \
	controller/attribution/optype.c controller/attribution/optype.h \
	controller/attribution/pipe_1f1b.c controller/attribution/pipe_1f1b.h \
	controller/attribution/simulate.c controller/attribution/simulate.h \
	controller/attribution/simulate_inside.h controller/attribution/simulate_mended.c \
	controller/attribution/slowdown.c controller/attribution/slowdown.h \
	controller/attribution/slowdown_inside.h controller/attribution/slowdown_sets.c \
	controller/attribution/slowdown_wave.c \
	controller/attribution/trace.h controller/attribution/trace_build.c \
	controller/attribution/trace_inside.h controller/attribution/trace_job.c \
	controller/attribution/trace_part.c controller/attribution/trace_shape.c \
	controller/attribution/trace_shape.h controller/attribution/trace_twice.c \
	controller/attribution/trace_window.c
libattribution_a_CFLAGS = $(AM_CFLAGS) $(SIMD_CFLAGS)
UNIT_TESTS += tests/unit/test_attribution tests/unit/test_attribution_trace tests/unit/test_attribution_graph tests/unit/test_attribution_simulate
tests_unit_test_attribution_graph_SOURCES = tests/unit/test_attribution_graph.c tests/unit/operations.c tests/unit/operations.h
tests_unit_test_attribution_graph_LDADD = libattribution.a $(LDADD)
tests_unit_test_attribution_trace_LDADD = libattribution.a $(LDADD)
tests_unit_test_attribution_simulate_SOURCES = tests/unit/test_attribution_simulate.c tests/unit/pipeline.c tests/unit/pipeline.h
tests_unit_test_attribution_SOURCES = tests/unit/test_attribution.c tests/unit/pipeline.c tests/unit/pipeline.h
tests_unit_test_attribution_LDADD = libattribution.a $(LDADD)
tests_unit_test_attribution_simulate_LDADD = libattribution.a $(LDADD)

# How it is shown.
libattribution_a_SOURCES += controller/attribution/form_heatmap.c controller/attribution/form_kinds.h controller/attribution/form_table.c controller/attribution/form_timeline.c \
	controller/attribution/replay.c controller/attribution/replay.h \
	controller/attribution/words.c controller/attribution/words.h

# What reads traces; the packings are files.
noinst_LIBRARIES += libtraceread.a
libtraceread_a_SOURCES = \
	controller/attribution/input.c controller/attribution/input.h controller/attribution/line.c controller/attribution/line.h \
	controller/attribution/line_csv.c controller/attribution/line_optrace.c \
	controller/attribution/line_shape.c controller/attribution/line_shape.h \
	controller/attribution/progress.c controller/attribution/progress.h \
	controller/attribution/trace_meta.c controller/attribution/trace_meta.h \
	controller/attribution/trace_reader.c controller/attribution/trace_reader.h controller/attribution/unpack.h
libtraceread_a_CFLAGS = $(AM_CFLAGS)
TRACE_LIBS = libtraceread.a libattribution.a $(BASE_LIBS)
if HAVE_ZLIB
libtraceread_a_SOURCES += controller/attribution/unpack_gzip.c
libtraceread_a_CFLAGS += $(ZLIB_CFLAGS)
TRACE_LIBS += $(ZLIB_LIBS)
else
libtraceread_a_SOURCES += controller/attribution/unpack_gzip_none.c
endif
if HAVE_ZSTD
libtraceread_a_SOURCES += controller/attribution/unpack_zstd.c
libtraceread_a_CFLAGS += $(ZSTD_CFLAGS)
TRACE_LIBS += $(ZSTD_LIBS)
else
libtraceread_a_SOURCES += controller/attribution/unpack_zstd_none.c
endif
UNIT_TESTS += tests/unit/test_trace_line tests/unit/test_trace_reader
tests_unit_test_trace_line_SOURCES = tests/unit/test_trace_line.c tests/unit/random.h
tests_unit_test_trace_line_LDADD = $(LDADD) $(TRACE_LIBS)
tests_unit_test_trace_reader_LDADD = $(LDADD) $(TRACE_LIBS)
tests_unit_test_trace_reader_CPPFLAGS = $(AM_CPPFLAGS) -DTRACES_BESIDE='"$(abs_srcdir)/../shared/traces"'
EXTRA_DIST += controller/attribution/unpack_gzip.c controller/attribution/unpack_gzip_none.c \
	controller/attribution/unpack_zstd.c controller/attribution/unpack_zstd_none.c

# The program; it needs no daemon's libraries.
bin_PROGRAMS += assay-attribute
assay_attribute_SOURCES = controller/attribution/attribute.c
assay_attribute_LDADD = $(TRACE_LIBS)
EXTRA_DIST += tests/system/test_attribute.py tests/system/test_attribute_published.py
# Jobs that never ran, with something wrong with them.
check_LIBRARIES += libjobs.a
libjobs_a_SOURCES = tests/attribution/inject.c tests/attribution/inject.h tests/attribution/job.c tests/attribution/job.h \
	tests/attribution/pipeline.c tests/attribution/pipeline.h
check_PROGRAMS += tests/attribution/generate
tests_attribution_generate_LDADD = libjobs.a $(CORE_LIBS)
UNIT_TESTS += tests/unit/test_attribution_labels
tests_unit_test_attribution_labels_LDADD = libjobs.a libattribution.a $(LDADD)
EXTRA_DIST += tests/system/attribution_fixtures.py tests/system/test_attribute_bad.py tests/system/test_attribute_forms.py
BENCHES += tests/bench/sum_bytes tests/bench/simulate_alone
tests_bench_simulate_alone_SOURCES = tests/bench/simulate_alone.c
tests_bench_simulate_alone_LDADD = $(TRACE_LIBS)
EXTRA_DIST += tests/bench/bench_attribute.py
dist_bin_SCRIPTS = controller/attribution/assay-optrace
EXTRA_DIST += tests/system/test_attribute_progress.py tests/system/test_optrace.py
