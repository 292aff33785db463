# SPDX-License-Identifier: Apache-2.0
# lib/net: HTTP client on the event loop, TCP, tokens in files. Included by Makefile.am.
libassay_a_SOURCES += lib/net/http_date.c lib/net/http_date.h lib/net/pem_sum.c lib/net/pem_sum.h lib/net/tcp.c lib/net/tcp.h \
	lib/net/token_file.c lib/net/token_file.h lib/net/url.c lib/net/url.h
libhttp_a_SOURCES = lib/net/checklist_clock.c lib/net/checklist_clock.h lib/net/http.c lib/net/http.h lib/net/http_certificate.c lib/net/http_certificate.h lib/net/http_loop.c lib/net/http_loop.h lib/net/http_once.c lib/net/http_once.h
if HAVE_SYSTEMD
if HAVE_CURL
noinst_LIBRARIES += libhttp.a
libhttp_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(SYSTEMD_CFLAGS)
HTTP_LIBS = libhttp.a $(CURL_LIBS) $(SYSTEMD_LIBS)
endif
endif
