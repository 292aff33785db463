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
	controller/arrival.c controller/arrival.h controller/baseline_usual.c controller/usual.c controller/usual.h controller/usual_bytes.c controller/hosts.c controller/hosts.h controller/speaker.c controller/speaker.h controller/speaker_store.c controller/speaker_store.h controller/access.c controller/access.h controller/api.c controller/api.h controller/api_call.c controller/api_questions.c controller/api_header.c controller/api_inside.h controller/api_route.c \
	controller/baseline.c controller/baseline.h controller/drift.c controller/drift.h controller/findings.c controller/findings.h controller/findings_fleet.c \
	controller/findings_inside.h \
	controller/incident.c controller/incident.h controller/kept_list.c controller/kept_list.h controller/live.c controller/live.h \
	controller/api_accept.c controller/api_say.c controller/notice.c controller/notice.h controller/origins.c controller/origins.h \
	controller/routes.h controller/routes_fleet.c controller/routes_nodes.c controller/routes_orders.c \
	controller/routes_reports.c controller/routes_topology.c controller/store_topology.c \
	controller/store_findings.c controller/store_list.c \
	controller/ingest.c controller/ingest.h controller/keep.c \
	controller/limiter.c controller/limiter.h controller/metrics.c controller/metrics.h \
	controller/opinion.c controller/opinion.h controller/pack.c controller/pack.h controller/process_use.c controller/process_use.h \
	controller/routes.c controller/rules.c controller/rules.h \
	controller/run_list.c controller/run_list.h controller/service.c controller/service.h \
	controller/share.c controller/share.h controller/shift.c controller/shift.h \
	controller/listen_address.c controller/listen_address.h controller/settings.c controller/settings.h controller/settings_inside.h controller/settings_kube.c controller/shed.c controller/shed.h \
	controller/store.c controller/store.h controller/store_open.c controller/store_read.c controller/store_sql.h controller/store_backup.c controller/store_backup.h controller/store_restore.c controller/store_sums.c controller/store_sums.h controller/store_write.c
libcontroller_a_SOURCES += controller/baseline_inside.h controller/baseline_lines.c controller/baseline_room.c controller/baseline_store.c controller/baseline_store.h controller/retention.c controller/retention.h \
	controller/store_baselines.c controller/store_thin.c controller/thinner.c controller/thinner.h \
	controller/upkeep.c
libcontroller_a_SOURCES += controller/action.h controller/action_inside.h controller/acting.c controller/acting.h \
	controller/actor.c controller/actor.h \
	controller/actor_ask.c controller/actor_confirm.c controller/actor_decide.c controller/actor_deny.c controller/actor_drain.c controller/actor_jobs.c controller/actor_json.c controller/actor_ledger.c controller/actor_place.c controller/actor_nodes.c \
	controller/actor_record.c controller/actor_reports.c controller/actor_rehearse.c controller/actor_resume.c controller/actor_startup.c controller/actor_tell.c controller/actor_touch.c \
	controller/cluster.c controller/cluster.h controller/cluster_names.c controller/cluster_names.h controller/cluster_embedded.c controller/cluster_embedded.h \
	controller/cluster_embedded_inside.h controller/cluster_embedded_ops.c \
	controller/findings_row.c controller/ledger.c controller/ledger.h controller/store_actions.c controller/store_actions.h \
	controller/store_cluster.c controller/store_cluster.h
libcontroller_a_SOURCES += controller/trust.c controller/trust.h controller/vouch.h
libcontroller_a_SOURCES += controller/routes_act.c controller/routes_acted.c controller/routes_replay.c controller/sliced.c controller/sliced.h controller/store_past.c
libcontroller_a_SOURCES += controller/actor_paired.c controller/campaigning.c controller/campaigning.h controller/campaigning_inside.h controller/campaigning_store.c controller/campaign_hosts.c controller/campaign_hosts.h controller/campaign_retest.c controller/campaign_retest.h \
	controller/neighbors.c controller/neighbors.h controller/routes_campaigns.c controller/settings_collectives.c \
	controller/store_campaigns.c controller/store_campaigns.h controller/store_places.c controller/store_places.h
nodist_libcontroller_a_SOURCES = controller/schema.h
CONTROLLER_LIBS = libcontroller.a $(CAMPAIGN_LIBS) libtopology.a $(BASE_LIBS) $(SYSTEMD_LIBS) $(SQLITE_LIBS) $(MICROHTTPD_LIBS)
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
assay_controller_SOURCES = controller/main.c controller/acting_kube.h controller/vouch_kube.h
assay_controller_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS)
if HAVE_CURL
assay_controller_SOURCES += controller/acting_kube.c controller/vouch_kube.c
assay_controller_LDADD = $(KUBE_LIBS) $(CONTROLLER_LIBS)
else
assay_controller_SOURCES += controller/acting_kube_none.c controller/vouch_kube_none.c
assay_controller_LDADD = $(CONTROLLER_LIBS)
endif
BUILT_SOURCES += controller/schema.h
UNIT_TESTS += tests/unit/test_usual
tests_unit_test_usual_SOURCES = tests/unit/test_usual.c tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_usual_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
UNIT_TESTS += tests/unit/test_speaker
tests_unit_test_speaker_SOURCES = tests/unit/test_speaker.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_speaker_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
UNIT_TESTS += tests/unit/test_arrival
tests_unit_test_arrival_LDADD = libcontroller.a $(LDADD)
UNIT_TESTS += tests/unit/test_access tests/unit/test_limiter tests/unit/test_baseline tests/unit/test_drift \
	tests/unit/test_findings tests/unit/test_live tests/unit/test_opinion tests/unit/test_shift
UNIT_TESTS += tests/unit/test_baseline_store tests/unit/test_retention tests/unit/test_store_thin
tests_unit_test_baseline_store_SOURCES = tests/unit/test_baseline_store.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_baseline_store_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_retention_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_store_thin_SOURCES = tests/unit/test_store_thin.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_store_thin_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_baseline_SOURCES = tests/unit/test_baseline.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_baseline_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_drift_LDADD = libcontroller.a $(LDADD)
tests_unit_test_findings_SOURCES = tests/unit/test_findings.c tests/unit/mesh.c tests/unit/mesh.h \
	tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_findings_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_shift_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_opinion_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_live_LDADD = libcontroller.a $(LDADD)
tests_unit_test_access_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_limiter_LDADD = libcontroller.a $(LDADD)
UNIT_TESTS += tests/unit/test_api_ask tests/unit/test_trust
tests_unit_test_api_ask_CFLAGS = $(AM_CFLAGS) $(SYSTEMD_CFLAGS) $(MICROHTTPD_CFLAGS)
tests_unit_test_api_ask_LDADD = $(CONTROLLER_LIBS) $(LDADD)
tests_unit_test_trust_LDADD = $(CONTROLLER_LIBS) $(LDADD)
UNIT_TESTS += tests/unit/test_shed
tests_unit_test_shed_LDADD = libcontroller.a $(LDADD)
UNIT_TESTS += tests/unit/test_ingest tests/unit/test_pack tests/unit/test_run_list tests/unit/test_store
tests_unit_test_ingest_SOURCES = tests/unit/test_ingest.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_ingest_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_pack_LDADD = libcontroller.a $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_run_list_SOURCES = tests/unit/test_run_list.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_run_list_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
tests_unit_test_store_SOURCES = tests/unit/test_store.c tests/unit/reports.c tests/unit/reports.h
UNIT_TESTS += tests/unit/test_kept_list
tests_unit_test_kept_list_SOURCES = tests/unit/test_kept_list.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_kept_list_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD)
UNIT_TESTS += tests/unit/test_cluster_names tests/unit/test_notice tests/unit/test_origins
tests_unit_test_cluster_names_LDADD = libcontroller.a $(LDADD)
tests_unit_test_notice_LDADD = libcontroller.a $(LDADD)
tests_unit_test_origins_LDADD = libcontroller.a $(LDADD)
UNIT_TESTS += tests/unit/test_actor tests/unit/test_actor_random tests/unit/test_actor_shared tests/unit/test_actor_twins
tests_unit_test_actor_twins_SOURCES = tests/unit/test_actor_twins.c tests/unit/act_world.c tests/unit/act_world.h tests/unit/random.h \
	tests/unit/reports.c tests/unit/reports.h
tests_unit_test_actor_twins_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_twins_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_actor_random_SOURCES = tests/unit/test_actor_random.c tests/unit/act_world.c tests/unit/act_world.h tests/unit/random.h \
	tests/unit/reports.c tests/unit/reports.h
tests_unit_test_actor_random_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_random_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_actor_SOURCES = tests/unit/test_actor.c tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_actor_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_actor_shared_SOURCES = tests/unit/test_actor_shared.c tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_actor_shared_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_shared_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
UNIT_TESTS += tests/unit/test_neighbors
tests_unit_test_neighbors_LDADD = $(CONTROLLER_LIBS) $(LDADD)
UNIT_TESTS += tests/unit/test_actor_paired
tests_unit_test_actor_paired_SOURCES = tests/unit/test_actor_paired.c tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_actor_paired_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_paired_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
UNIT_TESTS += tests/unit/test_actor_again
tests_unit_test_actor_again_SOURCES = tests/unit/test_actor_again.c tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_actor_again_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_again_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
UNIT_TESTS += tests/unit/test_actor_confirm
tests_unit_test_actor_confirm_SOURCES = tests/unit/test_actor_confirm.c tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_actor_confirm_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_confirm_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
UNIT_TESTS += tests/unit/test_actor_drain
tests_unit_test_actor_drain_SOURCES = tests/unit/test_actor_drain.c tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_actor_drain_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_drain_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
UNIT_TESTS += tests/unit/test_actor_hands
tests_unit_test_actor_hands_SOURCES = tests/unit/test_actor_hands.c tests/unit/act_world.c tests/unit/act_world.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_actor_hands_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_actor_hands_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
UNIT_TESTS += tests/unit/test_store_crash tests/unit/test_store_places
tests_unit_test_store_places_SOURCES = tests/unit/test_store_places.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_store_places_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_store_places_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_store_crash_SOURCES = tests/unit/test_store_crash.c tests/unit/random.h tests/unit/reports.c tests/unit/reports.h \
	tests/fakes/crash_vfs.c tests/fakes/crash_vfs.h tests/fakes/crash_dump.c tests/fakes/crash_file.c tests/fakes/crash_file.h
tests_unit_test_store_crash_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_store_crash_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
tests_unit_test_store_LDADD = libcontroller.a $(JUDGE_LIBS) $(LDADD) $(CONTROLLER_LIBS)
endif
endif
endif

# The steps from version to version of the store as C texts.
SCHEMAS = controller/schema-1.sql controller/schema-2.sql controller/schema-3.sql \
	controller/schema-4.sql controller/schema-5.sql controller/schema-6.sql controller/schema-7.sql controller/schema-8.sql controller/schema-9.sql \
	controller/schema-10.sql controller/schema-11.sql
controller/schema.h: $(SCHEMAS) Makefile
	$(AM_V_GEN)$(MKDIR_P) controller && { \
		echo '/* Made from controller/schema-*.sql. */' && echo 'static const char *const schema_steps[] = {' && \
		for f in $(SCHEMAS); do \
			$(SED) -e 's/[\\"]/\\&/g' -e 's/^/	"/' -e 's/$$/\\n"/' $(srcdir)/$$f && echo '	,' || exit 1; \
		done && echo '};'; } >$@.tmp && mv -f $@.tmp $@
EXTRA_DIST += $(SCHEMAS) tests/fixtures/store-1.sql tests/system/test_controller_store.py tests/system/test_controller_kept.py tests/system/test_usage.py
CLEANFILES += controller/schema.h
# Reports a second, and a fleet that comes back at once, the generator included; on a quiet host.
.PHONY: bench-controller
bench-controller: all
	/usr/bin/python3 $(srcdir)/tests/bench/bench_controller.py $(abs_builddir) --seconds 60
	/usr/bin/python3 $(srcdir)/tests/bench/bench_controller.py $(abs_builddir) --burst 10000
# From a bad report to its cordon under load; on a quiet host.
.PHONY: bench-action
bench-action: all
	/usr/bin/python3 $(srcdir)/tests/bench/bench_action.py $(abs_builddir)
EXTRA_DIST += tests/bench/bench_action.py tests/system/test_controller_act_kill.py tests/system/test_controller_life.py
EXTRA_DIST += tests/bench/bench_controller.py tests/system/test_controller_burst.py
# How long a restart takes on the store of a month of 10,000 hosts: 8 GB in $ASSAY_BENCH_DIR.
.PHONY: bench-restart
bench-restart: all
	/usr/bin/python3 $(srcdir)/tests/bench/bench_restart.py $(abs_builddir)
	/usr/bin/python3 $(srcdir)/tests/bench/bench_routes.py $(abs_builddir)
EXTRA_DIST += tests/bench/bench_restart.py tests/bench/bench_routes.py tests/bench/bench_upload.py tests/bench/bench_readers.py tests/bench/store_days.py
# What 10,000 hosts and 1,000 held connections cost.
.PHONY: bench-connections
bench-connections: all
	/usr/bin/python3 $(srcdir)/tests/bench/bench_connections.py $(abs_builddir)
EXTRA_DIST += tests/bench/bench_connections.py

EXTRA_DIST += tests/system/fixtures_controller.py tests/system/test_controller.py tests/system/abuse.py tests/system/test_controller_abuse.py tests/system/test_controller_access.py tests/system/test_controller_kill.py tests/system/test_controller_sent.py tests/system/test_controller_views.py
EXTRA_DIST += tests/system/test_store_backup.py tests/system/test_store_damage.py tests/system/test_tables_filled.py tests/fleet/faults.py tests/fleet/held_out.py tests/fleet/hosts.py tests/fleet/silicon.py tests/fleet/simulate.py \
	tests/system/test_fleet.py tests/system/test_held_out.py \
	tests/system/test_fleet_opinion.py tests/system/test_quickstart.py
EXTRA_DIST += deploy/prometheus/assay-rules.yaml tests/system/test_controller_metrics.py \
	tests/system/test_controller_reload.py tests/system/test_controller_unit.py tests/system/openapi.py tests/system/test_openapi.py
EXTRA_DIST += tests/system/campaign_hosts.py tests/system/test_campaigns.py tests/system/test_campaigns_abuse.py tests/system/test_campaigns_anew.py tests/system/test_campaigns_observe.py tests/system/test_campaigns_assayd.py
