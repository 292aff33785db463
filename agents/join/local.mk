# SPDX-License-Identifier: Apache-2.0
# agents/join: assay join, which registers a host with a controller. Included by Makefile.am.
if HAVE_SYSTEMD
if HAVE_CURL
probes_PROGRAMS += assay-join
assay_join_SOURCES = agents/join/join.c agents/join/join_ask.c agents/join/join_ask.h agents/join/join_files.c \
	agents/join/join_files.h
assay_join_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
assay_join_LDADD = $(HTTP_LIBS) $(CORE_LIBS)
endif
endif
