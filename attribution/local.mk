# SPDX-License-Identifier: Apache-2.0
# attribution: assay-attribute, which finds what slows a job from its trace. Included by Makefile.am.
noinst_LIBRARIES += libattribution.a
libattribution_a_SOURCES = attribution/align.c attribution/align.h attribution/attribution.c \
	attribution/attribution.h attribution/balance.c attribution/balance.h attribution/bootstrap.c \
	attribution/bootstrap.h attribution/cause.c attribution/cause.h attribution/cost.c attribution/cost.h \
	attribution/description.c attribution/description.h attribution/description_hotspa.c attribution/description_hotspa.h \
	attribution/description_units.h attribution/measured.c attribution/measured.h \
	attribution/hotspa_places.c attribution/hotspa_places.h attribution/pack_pace.c attribution/pack_pace.h attribution/outlook.c \
	attribution/outlook.h attribution/outlook_check.c attribution/outlook_check.h attribution/outlook_hotspa.c \
	attribution/outlook_hotspa.h attribution/outlook_show.c attribution/outlook_show.h \
	attribution/crew.c attribution/crew.h attribution/document.c attribution/form_heatmap.c attribution/form_kinds.h \
	attribution/ends.c attribution/ends.h attribution/form_table.c attribution/form_timeline.c attribution/forms.c \
	attribution/forms.h attribution/graph.c \
	attribution/graph.h attribution/graph_draft.c attribution/graph_draft.h attribution/graph_order.c attribution/graph_pipeline.c \
	attribution/hints.c attribution/hints.h attribution/optype.c attribution/optype.h \
	attribution/outline.c attribution/outline.h attribution/replace.c attribution/replace.h attribution/summary_remedies.c \
	attribution/summary_remedies.h \
	attribution/lateness.c attribution/lateness.h attribution/lateness_document.c attribution/lateness_document.h \
	attribution/lottery.c attribution/lottery.h attribution/pace.c attribution/pace.h attribution/replay.c \
	attribution/replay.h attribution/simulate.c attribution/simulate.h attribution/slowdown.c attribution/slowdown.h \
	attribution/speeds.c attribution/speeds.h attribution/subjects.c attribution/subjects.h attribution/summary.c \
	attribution/summary.h attribution/summary_detail.c attribution/summary_detail.h attribution/suspects.c \
	attribution/suspects.h attribution/trace.h attribution/trace_build.c attribution/trace_build.h attribution/trace_job.c attribution/trace_job.h \
	attribution/trace_part.c attribution/trace_part.h attribution/trace_shape.c attribution/trace_shape.h \
	attribution/wave.c attribution/wave.h attribution/words.c \
	attribution/words.h
libattribution_a_CFLAGS = $(AM_CFLAGS) $(SIMD_CFLAGS)
ATTRIBUTION_LIBS = libattribution.a $(RING_LIBS) $(JUDGE_LIBS)

# The trace reader; the build selects the files for compression formats.
noinst_LIBRARIES += libtraceread.a
libtraceread_a_SOURCES = attribution/input.c attribution/input.h attribution/line.c attribution/line.h \
	attribution/line_csv.c attribution/line_csv.h attribution/line_optrace.c attribution/line_optrace.h \
	attribution/line_shape.c attribution/line_shape.h attribution/line_take.c attribution/line_take.h \
	attribution/progress.c attribution/progress.h attribution/trace_meta.c attribution/trace_meta.h \
	attribution/trace_reader.c attribution/trace_reader.h attribution/unpack.h
libtraceread_a_CFLAGS = $(AM_CFLAGS)
TRACE_LIBS = libtraceread.a libattribution.a $(REMEDY_LIBS) $(RING_LIBS) $(JUDGE_LIBS) $(BASE_LIBS)
EXTRA_DIST += attribution/unpack_gzip.c attribution/unpack_gzip_none.c attribution/unpack_zstd.c \
	attribution/unpack_zstd_none.c
if HAVE_ZLIB
libtraceread_a_SOURCES += attribution/unpack_gzip.c
libtraceread_a_CFLAGS += $(ZLIB_CFLAGS)
TRACE_LIBS += $(ZLIB_LIBS)
else
libtraceread_a_SOURCES += attribution/unpack_gzip_none.c
endif
if HAVE_ZSTD
libtraceread_a_SOURCES += attribution/unpack_zstd.c
libtraceread_a_CFLAGS += $(ZSTD_CFLAGS)
TRACE_LIBS += $(ZSTD_LIBS)
else
libtraceread_a_SOURCES += attribution/unpack_zstd_none.c
endif

# The program; it does not need the libraries of the daemons.
bin_PROGRAMS += assay-attribute
assay_attribute_SOURCES = attribution/attribute.c attribution/hang_command.c attribution/hang_command.h \
	attribution/hang_input.c attribution/hang_input.h attribution/hang_table.c attribution/hang_table.h
assay_attribute_LDADD = $(HANG_LIBS) $(TRACE_LIBS)

# Plans for jobs with bad hosts, from lib/remedy.
noinst_LIBRARIES += libplan.a
libplan_a_SOURCES = attribution/plan_args.c attribution/plan_args.h attribution/plan_eval.c attribution/plan_eval.h \
	attribution/plan_hotspa.c attribution/plan_hotspa.h attribution/plan_oobleck.c attribution/plan_oobleck.h \
	attribution/plan_pipeline.c attribution/plan_pipeline.h attribution/plan_rearrange.c attribution/plan_rearrange.h \
	attribution/plan_schedule.c attribution/plan_schedule.h
bin_PROGRAMS += assay-plan
assay_plan_SOURCES = attribution/plan.c
assay_plan_LDADD = libplan.a $(REMEDY_LIBS) $(TRACE_LIBS)
dist_bin_SCRIPTS = attribution/assay-lateness attribution/assay-optrace
