# SPDX-License-Identifier: Apache-2.0
# controller: the program, which connects the parts, and its library. Included by Makefile.am.
libcontroller_a_SOURCES = controller/controller.c controller/controller.h
nodist_libcontroller_a_SOURCES =
if HAVE_SYSTEMD
if HAVE_SQLITE
if HAVE_MICROHTTPD
# Needs the event loop, the store and the HTTP server; the build selects the files for compression formats.
sbin_PROGRAMS += assay-controller
noinst_LIBRARIES += libcontroller.a
libcontroller_a_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS) $(SQLITE_CFLAGS) $(MICROHTTPD_CFLAGS)
CONTROLLER_LIBS = libcontroller.a libhang.a libremedy.a $(ATTRIBUTION_LIBS) $(CAMPAIGN_LIBS) libtopology.a $(BASE_LIBS) $(SYSTEMD_LIBS) $(SQLITE_LIBS) $(MICROHTTPD_LIBS)
if HAVE_GNUTLS
libcontroller_a_CFLAGS += $(GNUTLS_CFLAGS)
CONTROLLER_LIBS += $(GNUTLS_LIBS)
endif
if HAVE_ZLIB
libcontroller_a_CFLAGS += $(ZLIB_CFLAGS)
CONTROLLER_LIBS += $(ZLIB_LIBS)
endif
if HAVE_ZSTD
libcontroller_a_CFLAGS += $(ZSTD_CFLAGS)
CONTROLLER_LIBS += $(ZSTD_LIBS)
endif
assay_controller_SOURCES = controller/actions/remediation_kube.h controller/alerts/alert_sender_http.h controller/config/token_review_kube.h \
	controller/main.c
assay_controller_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
if HAVE_CURL
assay_controller_SOURCES += controller/actions/remediation_kube.c controller/alerts/alert_sender_http.c controller/config/token_review_kube.c
assay_controller_LDADD = $(KUBE_LIBS) $(CONTROLLER_LIBS)
else
assay_controller_SOURCES += controller/actions/remediation_kube_none.c controller/alerts/alert_sender_http_none.c controller/config/token_review_kube_none.c
assay_controller_LDADD = $(CONTROLLER_LIBS)
endif
endif
endif
endif
