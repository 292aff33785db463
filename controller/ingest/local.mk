# SPDX-License-Identifier: Apache-2.0
# controller/ingest: a report from bytes to rows: identity, clock, judge, batch commit. Included by Makefile.am.
libcontroller_a_SOURCES += controller/ingest/host_identity.c controller/ingest/host_identity.h \
	controller/ingest/host_identity_store.c controller/ingest/host_identity_store.h controller/ingest/ingest.c \
	controller/ingest/ingest.h controller/ingest/ingest_counts.c controller/ingest/ingest_counts.h \
	controller/ingest/keep.c
