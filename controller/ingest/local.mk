# SPDX-License-Identifier: Apache-2.0
# controller/ingest: a report from bytes to rows: identity, clock, judge, batch commit. Included by Makefile.am.
libcontroller_a_SOURCES += controller/ingest/ingest.c controller/ingest/ingest.h controller/ingest/ingest_counts.c \
	controller/ingest/ingest_counts.h controller/ingest/keep.c controller/ingest/speaker.c controller/ingest/speaker.h \
	controller/ingest/speaker_store.c controller/ingest/speaker_store.h
