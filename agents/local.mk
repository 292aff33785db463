# SPDX-License-Identifier: Apache-2.0
# assayd and the HTTP client: included by Makefile.am.

# ---- lib: HTTP client -----------------------------------------------------------
if HAVE_SYSTEMD
if HAVE_CURL
noinst_LIBRARIES += libhttp.a
libhttp_a_SOURCES = lib/http.c lib/http.h lib/http_loop.c lib/http_loop.h lib/tcp.c lib/tcp.h \
	lib/token_file.c lib/token_file.h
libhttp_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(SYSTEMD_CFLAGS)
HTTP_LIBS = libhttp.a $(CURL_LIBS) $(SYSTEMD_LIBS)
endif
endif

# ---- agents: assayd -------------------------------------------------------------------
# What needs neither the loop nor the network is a library for the tests too.
noinst_LIBRARIES += libassaydcore.a
libassaydcore_a_SOURCES = \
	agents/delivery.c agents/delivery.h agents/orders.c agents/orders.h \
	agents/assayd_config.c agents/assayd_config.h agents/gzip.h
if HAVE_ZLIB
libassaydcore_a_SOURCES += agents/gzip.c
GZIP_LIBS = $(ZLIB_LIBS)
else
libassaydcore_a_SOURCES += agents/gzip_none.c
endif
UNIT_TESTS += tests/unit/test_uplink tests/unit/test_orders
tests_unit_test_uplink_LDADD = libassaydcore.a $(GZIP_LIBS) $(LDADD)
tests_unit_test_orders_LDADD = libassaydcore.a $(LDADD)

if HAVE_SYSTEMD
if HAVE_CURL
sbin_PROGRAMS += assayd
assayd_SOURCES = agents/assayd.c agents/daemon.c agents/daemon.h agents/deep.c agents/deep.h \
	agents/orders_link.c agents/orders_link.h agents/uplink.c agents/uplink.h \
	agents/verdict_file.c
assayd_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
assayd_LDADD = libassaydcore.a $(KEEP_LIBS) $(HTTP_LIBS) $(GZIP_LIBS) $(CORE_LIBS)
endif
endif
EXTRA_DIST += tests/system/assayd_fixtures.py tests/system/controller_stub.py \
	tests/system/test_assayd.py tests/system/test_assayd_controller.py tests/system/test_assayd_net.py \
	tests/system/test_assayd_orders.py tests/system/test_assayd_unit.py tests/bench/bench_assayd.py
