# SPDX-License-Identifier: Apache-2.0
# assay-controller: included by Makefile.am.

# Needs the event loop, the store and the HTTP server; the packings are files.
if HAVE_SYSTEMD
if HAVE_SQLITE
if HAVE_MICROHTTPD
sbin_PROGRAMS += assay-controller
noinst_LIBRARIES += libcontroller.a
libcontroller_a_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS) $(SQLITE_CFLAGS) $(MICROHTTPD_CFLAGS)
libcontroller_a_SOURCES = \
	controller/access.c controller/access.h controller/api.c controller/api.h controller/api_call.c controller/api_inside.h controller/api_route.c \
	controller/baseline.c controller/baseline.h controller/drift.c controller/drift.h controller/findings.c controller/findings.h \
	controller/incident.c controller/incident.h controller/live.c controller/live.h \
	controller/routes.h controller/routes_fleet.c controller/routes_nodes.c controller/routes_orders.c \
	controller/store_findings.c controller/store_list.c controller/windows.c controller/windows.h \
	controller/ingest.c controller/ingest.h \
	controller/limiter.c controller/limiter.h controller/metrics.c controller/metrics.h \
	controller/pack.c controller/pack.h controller/routes.c controller/rules.c controller/rules.h \
	controller/run_list.c controller/run_list.h controller/service.c controller/service.h \
	controller/settings.c controller/settings.h \
	controller/store.c controller/store.h controller/store_read.c controller/store_sql.h controller/store_write.c
nodist_libcontroller_a_SOURCES = controller/schema.h
CONTROLLER_LIBS = libcontroller.a $(JUDGE_LIBS) $(BASE_LIBS) $(SYSTEMD_LIBS) $(SQLITE_LIBS) $(MICROHTTPD_LIBS)
if HAVE_GNUTLS
libcontroller_a_SOURCES += controller/api_tls.c
libcontroller_a_CFLAGS += $(GNUTLS_CFLAGS)
CONTROLLER_LIBS += $(GNUTLS_LIBS)
else
libcontroller_a_SOURCES += controller/api_tls_none.c
endif
if HAVE_ZLIB
libcontroller_a_SOURCES += controller/gzip.c
libcontroller_a_CFLAGS += $(ZLIB_CFLAGS)
CONTROLLER_LIBS += $(ZLIB_LIBS)
else
libcontroller_a_SOURCES += controller/gzip_none.c
endif
if HAVE_ZSTD
libcontroller_a_SOURCES += controller/zstd.c
libcontroller_a_CFLAGS += $(ZSTD_CFLAGS)
CONTROLLER_LIBS += $(ZSTD_LIBS)
else
libcontroller_a_SOURCES += controller/zstd_none.c
endif
assay_controller_SOURCES = controller/main.c
assay_controller_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
assay_controller_LDADD = $(CONTROLLER_LIBS)
BUILT_SOURCES += controller/schema.h
UNIT_TESTS += tests/unit/test_access tests/unit/test_limiter tests/unit/test_baseline tests/unit/test_drift \
	tests/unit/test_findings tests/unit/test_live tests/unit/test_windows
tests_unit_test_baseline_SOURCES = tests/unit/test_baseline.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_baseline_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_drift_LDADD = libcontroller.a $(LDADD)
tests_unit_test_findings_SOURCES = tests/unit/test_findings.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_findings_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_live_LDADD = libcontroller.a $(LDADD)
tests_unit_test_windows_LDADD = libcontroller.a $(LDADD)
tests_unit_test_access_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_limiter_LDADD = libcontroller.a $(LDADD)
UNIT_TESTS += tests/unit/test_ingest tests/unit/test_pack tests/unit/test_run_list tests/unit/test_store
tests_unit_test_ingest_SOURCES = tests/unit/test_ingest.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_ingest_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_pack_LDADD = libcontroller.a $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_run_list_SOURCES = tests/unit/test_run_list.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_run_list_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_store_SOURCES = tests/unit/test_store.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_store_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
endif
endif
endif

# The schema as a C text.
controller/schema.h: controller/schema.sql Makefile
	$(AM_V_GEN)$(MKDIR_P) controller && { \
		echo '/* Made from controller/schema.sql. */' && echo 'static const char schema_sql[] =' && \
		$(SED) -e 's/[\\"]/\\&/g' -e 's/^/	"/' -e 's/$$/\\n"/' $(srcdir)/controller/schema.sql && \
		echo '	;'; } >$@.tmp && mv -f $@.tmp $@
CLEANFILES += controller/schema.h
# Reports a second, the generator included; on a quiet host.
.PHONY: bench-controller
bench-controller: all
	/usr/bin/python3 $(srcdir)/tests/bench/bench_controller.py $(abs_builddir) --seconds 60
EXTRA_DIST += tests/bench/bench_controller.py

EXTRA_DIST += controller/schema.sql docs/openapi.yaml tests/system/fixtures_controller.py tests/system/test_controller.py tests/system/test_controller_access.py tests/system/test_controller_views.py

