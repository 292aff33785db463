# SPDX-License-Identifier: Apache-2.0
# agents/doctor: checks that this host is set up to measure and to report. Included by Makefile.am.
if HAVE_SYSTEMD
if HAVE_CURL
probes_PROGRAMS += assay-doctor
assay_doctor_SOURCES = agents/doctor/doctor.c agents/doctor/doctor.h agents/doctor/doctor_ask.c agents/doctor/doctor_ask.h \
	agents/doctor/doctor_host.c agents/doctor/doctor_host.h
assay_doctor_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
assay_doctor_LDADD = libassaydcore.a $(KEEP_LIBS) $(HTTP_LIBS) $(BASE_LIBS)
endif
endif
