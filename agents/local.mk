# SPDX-License-Identifier: Apache-2.0
# assayd and the HTTP client: included by Makefile.am.

# ---- lib: HTTP client -----------------------------------------------------------
if HAVE_SYSTEMD
if HAVE_CURL
noinst_LIBRARIES += libhttp.a
libhttp_a_SOURCES = lib/http.c lib/http.h lib/http_inside.h lib/http_loop.c lib/http_loop.h \
	lib/http_setup.c lib/http_words.c lib/token_file.c lib/token_file.h
libhttp_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(SYSTEMD_CFLAGS)
HTTP_LIBS = libhttp.a $(CURL_LIBS) $(SYSTEMD_LIBS)
endif
endif

# ---- agents: assayd -------------------------------------------------------------------
# What needs neither the loop nor the network is a library for the tests too.
noinst_LIBRARIES += libassaydcore.a
libassaydcore_a_SOURCES = \
	agents/delivery.c agents/delivery.h agents/link_inside.h agents/link_message.c agents/link_message.h \
	agents/link_samples.c agents/link_watch.c agents/link_watch.h agents/log_watch.c agents/log_watch.h \
	agents/watch_pace.c agents/watch_pace.h agents/report_age.c agents/report_age.h agents/order_id.h agents/order_meeting.c agents/order_meeting.h agents/orders.c agents/orders.h \
	agents/permit_file.c agents/permit_file.h \
	agents/schedule_time.c agents/schedule_time.h agents/assayd_config.c agents/assayd_config.h agents/gzip.h agents/yaml_child.c agents/yaml_child.h
if HAVE_ZLIB
libassaydcore_a_SOURCES += agents/gzip.c
GZIP_LIBS = $(ZLIB_LIBS)
else
libassaydcore_a_SOURCES += agents/gzip_none.c
endif
UNIT_TESTS += tests/unit/test_report_age tests/unit/test_uplink tests/unit/test_orders
tests_unit_test_uplink_LDADD = libassaydcore.a $(GZIP_LIBS) $(LDADD)
tests_unit_test_report_age_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_orders_LDADD = libassaydcore.a $(LDADD)
UNIT_TESTS += tests/unit/test_order_meeting tests/unit/test_permit_file
tests_unit_test_order_meeting_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_permit_file_LDADD = libassaydcore.a liball_reduce.a librdma.a $(LDADD)
UNIT_TESTS += tests/unit/test_schedule
tests_unit_test_schedule_LDADD = libassaydcore.a $(LDADD)
WATCH_FIXTURE = tests/unit/watch_fixture.c tests/unit/watch_fixture.h
UNIT_TESTS += tests/unit/test_link_message tests/unit/test_link_watch tests/unit/test_log_watch tests/unit/test_watch_random
tests_unit_test_link_message_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_watch_random_SOURCES = tests/unit/test_watch_random.c tests/unit/random.h $(WATCH_FIXTURE)
tests_unit_test_watch_random_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_link_watch_SOURCES = tests/unit/test_link_watch.c $(WATCH_FIXTURE)
tests_unit_test_link_watch_LDADD = libassaydcore.a $(LDADD)
tests_unit_test_log_watch_SOURCES = tests/unit/test_log_watch.c $(WATCH_FIXTURE)
tests_unit_test_log_watch_LDADD = libassaydcore.a $(LDADD)

if HAVE_SYSTEMD
if HAVE_CURL
sbin_PROGRAMS += assayd
assayd_SOURCES = agents/assayd.c agents/assayd_check.c agents/assayd_check.h agents/child.c agents/child.h agents/collective.c agents/collective.h agents/daemon.c agents/daemon.h agents/deep.c agents/deep.h \
	agents/identity_files.c agents/identity_files.h agents/obey.c agents/obey.h \
	agents/orders_link.c agents/orders_link.h agents/schedule.c agents/schedule.h agents/parcel.c agents/parcel.h \
	agents/topology_link.c agents/topology_link.h agents/uplink.c agents/uplink.h \
	agents/watch.c agents/watch.h agents/watch_kmsg.c agents/watch_kmsg.h agents/watch_link.c agents/watch_link.h \
	agents/verdict_file.c
assayd_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
assayd_LDADD = libassaydcore.a $(KEEP_LIBS) $(HTTP_LIBS) $(GZIP_LIBS) $(CORE_LIBS)
endif
endif
EXTRA_DIST += tests/system/test_assayd_schedule.py tests/system/assayd_fixtures.py tests/system/controller_stub.py tests/system/test_watch.py tests/system/test_watch_links.py tests/system/watch_fixtures.py tests/guest/scenarios/watch.sh \
	tests/system/test_assayd.py tests/system/test_assayd_name.py tests/system/test_assayd_controller.py tests/system/test_assayd_liveness.py tests/system/test_assayd_net.py \
	tests/system/test_assayd_collective.py tests/system/test_assayd_collective_bad.py \
	tests/system/test_assayd_collective_campaign.py tests/system/collective_fixtures.py \
	tests/system/test_assayd_orders.py tests/system/test_assayd_unit.py tests/bench/bench_assayd.py \
	tests/bench/bench_drain.py
