# SPDX-License-Identifier: Apache-2.0
# Part of Makefile.am: topology and the judge.

# ---- lib: base64 ---------------------------------------------------------------
libassay_a_SOURCES += lib/base64.c lib/base64.h lib/glob.c lib/glob.h lib/jsome.c lib/jsome.h
UNIT_TESTS += tests/unit/test_base64

# ---- lib: circle ---------------------------------------------------------------
libassay_a_SOURCES += lib/circle.c lib/circle.h
UNIT_TESTS += tests/unit/test_circle

# ---- lib: watched --------------------------------------------------------------
libassay_a_SOURCES += lib/watched.c lib/watched.h
UNIT_TESTS += tests/unit/test_watched

# ---- lib: topology (hwloc chooses the file) ----------------------------------
noinst_LIBRARIES += libtopology.a
libtopology_a_SOURCES = lib/topology.c lib/topology.h lib/topology_build.c lib/topology_build.h \
	lib/rehearse.c lib/rehearse.h lib/topology_json.c lib/topology_load.c lib/topology_pci.c lib/topology_pci.h
libtopology_a_CFLAGS = $(AM_CFLAGS)
if HAVE_HWLOC
libtopology_a_SOURCES += lib/topology_hwloc.c
libtopology_a_CFLAGS += $(HWLOC_CFLAGS)
TOPOLOGY_LIBS = libtopology.a $(HWLOC_LIBS)
else
libtopology_a_SOURCES += lib/topology_none.c
TOPOLOGY_LIBS = libtopology.a
endif

UNIT_TESTS += tests/unit/test_rehearse tests/unit/test_sha256 tests/unit/test_topology \
	tests/unit/test_topology_file tests/unit/test_topology_files tests/unit/test_topology_json tests/unit/test_topology_pci
tests_unit_test_rehearse_LDADD = libtopology.a $(LDADD)
TOPOLOGY_FIXTURE = tests/unit/topology_fixture.c tests/unit/topology_fixture.h
tests_unit_test_topology_SOURCES = tests/unit/test_topology.c $(TOPOLOGY_FIXTURE)
tests_unit_test_topology_LDADD = $(TOPOLOGY_LIBS) $(LDADD)
tests_unit_test_topology_files_SOURCES = tests/unit/test_topology_files.c $(TOPOLOGY_FIXTURE)
tests_unit_test_topology_files_LDADD = $(TOPOLOGY_LIBS) $(LDADD)
tests_unit_test_topology_json_SOURCES = tests/unit/test_topology_json.c $(TOPOLOGY_FIXTURE)
tests_unit_test_topology_json_LDADD = $(TOPOLOGY_LIBS) $(LDADD)
tests_unit_test_topology_pci_LDADD = $(TOPOLOGY_LIBS) $(LDADD)

# `assay topology`.
noinst_LIBRARIES += libtopologycommand.a
libtopologycommand_a_SOURCES = agents/cmd_topology.c agents/topology_draw.c agents/topology_draw.h
UNIT_TESTS += tests/unit/test_topology_draw
tests_unit_test_topology_draw_SOURCES = tests/unit/test_topology_draw.c $(TOPOLOGY_FIXTURE)
tests_unit_test_topology_draw_LDADD = libtopologycommand.a $(TOPOLOGY_LIBS) $(LDADD)
EXTRA_DIST += tests/fixtures/hgx-8gpu-8nic.xml tests/fixtures/make_topology.py \
	tests/fixtures/vm.xml


# ---- lib/judge: pure; linked by assay, the controller, assayctl, assay-sim ----
noinst_LIBRARIES += libjudge.a
libjudge_a_SOURCES = \
	lib/judge/link_words.c lib/judge/link_words.h \
	lib/judge/localise.c lib/judge/localise.h lib/judge/localise_cells.c lib/judge/localise_cells.h \
	lib/judge/localise_rates.c lib/judge/localise_rates.h lib/judge/localise_words.c \
	lib/judge/missing.c lib/judge/missing.h lib/judge/peers.c lib/judge/peers.h \
	lib/judge/twins.c lib/judge/twins.h \
	lib/judge/reference.c lib/judge/reference.h \
	lib/judge/standing.c lib/judge/standing.h lib/judge/stats.c lib/judge/stats.h lib/judge/tomography.c lib/judge/tomography.h \
	lib/judge/tomography_fit.c lib/judge/tomography_fit.h lib/judge/verdict.c lib/judge/verdict.h \
	lib/judge/admit.c lib/judge/admit.h lib/judge/policy.c lib/judge/policy.h \
	lib/judge/breaker.c lib/judge/breaker.h lib/judge/breaker_json.c lib/judge/budget.c lib/judge/budget.h lib/judge/manual_rate.c lib/judge/manual_rate.h \
	lib/judge/decide.c lib/judge/decide.h lib/judge/decide_apply.c lib/judge/decide_cordon.c lib/judge/decide_drain.c lib/judge/decide_inside.h \
	lib/judge/decide_orders.c lib/judge/decide_shared.c lib/judge/deny.c lib/judge/deny.h lib/judge/startup.c lib/judge/startup.h \
	lib/judge/fleet.c lib/judge/fleet.h lib/judge/fleet_event.c lib/judge/fleet_inside.h lib/judge/fleet_parts.c \
	lib/judge/life.c lib/judge/life.h lib/judge/names.c lib/judge/names.h \
	lib/judge/windows.c lib/judge/windows.h \
	lib/judge/sensitivity.c lib/judge/sensitivity.h lib/judge/sensitivity_rows.c \
	lib/judge/sku.c lib/judge/sku.h lib/judge_files.c lib/judge_files.h \
	lib/judge/verdict_inside.h lib/judge/verdict_json.c lib/judge/verdict_links.c \
	lib/judge/verdict_merge.c lib/judge/words.c lib/judge/words.h
libjudge_a_SOURCES += lib/judge/bad_run.c lib/judge/bad_run.h
libjudge_a_SOURCES += lib/judge/trend.c lib/judge/trend.h lib/judge/verdict_whole.c
libjudge_a_SOURCES += lib/judge/replay.c lib/judge/replay.h lib/judge/replay_inside.h lib/judge/replay_tally.c
JUDGE_LIBS = libjudge.a
UNIT_TESTS += tests/unit/test_replay
tests_unit_test_replay_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_decide_domain
tests_unit_test_decide_domain_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_bad_run
tests_unit_test_bad_run_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_trend
tests_unit_test_trend_SOURCES = tests/unit/test_trend.c tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_trend_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_standing tests/unit/test_missing
tests_unit_test_missing_SOURCES = tests/unit/test_missing.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_missing_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_standing_SOURCES = tests/unit/test_standing.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_standing_LDADD = $(JUDGE_LIBS) $(LDADD)
UNIT_TESTS += tests/unit/test_decide tests/unit/test_windows
UNIT_TESTS += tests/unit/test_decide_random
tests_unit_test_decide_random_SOURCES = tests/unit/test_decide_random.c tests/unit/fleet_books.c tests/unit/fleet_books.h \
	tests/unit/random.h
tests_unit_test_decide_random_LDADD = $(JUDGE_LIBS) $(LDADD)
FLEET_WORLD = tests/unit/fleet_world.c tests/unit/fleet_world.h
tests_unit_test_decide_SOURCES = tests/unit/test_decide.c $(FLEET_WORLD)
UNIT_TESTS += tests/unit/test_manual_rate tests/unit/test_startup tests/unit/test_breaker tests/unit/test_decide_shared tests/unit/test_hold tests/unit/test_refusal tests/unit/test_release
tests_unit_test_refusal_SOURCES = tests/unit/test_refusal.c $(FLEET_WORLD)
tests_unit_test_refusal_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_manual_rate_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_breaker_SOURCES = tests/unit/test_breaker.c $(FLEET_WORLD)
tests_unit_test_breaker_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_startup_SOURCES = tests/unit/test_startup.c
tests_unit_test_startup_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_hold_SOURCES = tests/unit/test_hold.c $(FLEET_WORLD)
tests_unit_test_hold_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_decide_shared_SOURCES = tests/unit/test_decide_shared.c $(FLEET_WORLD)
tests_unit_test_decide_shared_LDADD = $(JUDGE_LIBS) $(LDADD)
UNIT_TESTS += tests/unit/test_decide_drain
tests_unit_test_decide_drain_SOURCES = tests/unit/test_decide_drain.c $(FLEET_WORLD)
tests_unit_test_decide_drain_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_release_SOURCES = tests/unit/test_release.c $(FLEET_WORLD)
tests_unit_test_release_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_decide_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_windows_LDADD = $(JUDGE_LIBS) $(LDADD)
UNIT_TESTS += tests/unit/test_policy tests/unit/test_sku tests/unit/test_admit
tests_unit_test_policy_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_sku_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_admit_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_sensitivity tests/unit/test_sensitivity_random
tests_unit_test_sensitivity_SOURCES = tests/unit/test_sensitivity.c \
	tests/unit/reports.c tests/unit/reports.h
tests_unit_test_sensitivity_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_sensitivity_random_SOURCES = tests/unit/test_sensitivity_random.c \
	tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_sensitivity_random_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_stats
tests_unit_test_stats_SOURCES = tests/unit/test_stats.c tests/unit/random.h
tests_unit_test_stats_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_reference
tests_unit_test_reference_SOURCES = tests/unit/test_reference.c \
	tests/unit/reports.c tests/unit/reports.h
tests_unit_test_reference_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_words
tests_unit_test_words_SOURCES = tests/unit/test_words.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_words_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_verdict
tests_unit_test_verdict_SOURCES = tests/unit/test_verdict.c \
	tests/unit/reports.c tests/unit/reports.h
tests_unit_test_verdict_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_compared
tests_unit_test_compared_SOURCES = tests/unit/test_compared.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_compared_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_verdict_json
tests_unit_test_verdict_json_SOURCES = tests/unit/test_verdict_json.c \
	tests/unit/reports.c tests/unit/reports.h
tests_unit_test_verdict_json_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_verdict_random
tests_unit_test_verdict_random_SOURCES = tests/unit/test_verdict_random.c tests/unit/random.h \
	tests/unit/reports.c tests/unit/reports.h
tests_unit_test_verdict_random_LDADD = $(JUDGE_LIBS) $(LDADD)

EXTRA_DIST += tests/system/test_explain.py tests/system/test_localise.py tests/system/localise_hosts.py tests/system/test_localise_hosts.py
# Where the slow link is, on simulated hosts.
UNIT_TESTS += tests/unit/test_localise tests/unit/test_localise_mesh tests/unit/test_localise_small tests/unit/test_localise_strangers
tests_unit_test_localise_SOURCES = tests/unit/test_localise.c tests/unit/reports.c tests/unit/reports.h
tests_unit_test_localise_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_localise_mesh_SOURCES = tests/unit/test_localise_mesh.c tests/unit/mesh.c tests/unit/mesh.h \
	tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_localise_mesh_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_localise_strangers_SOURCES = tests/unit/test_localise_strangers.c tests/unit/mesh.c tests/unit/mesh.h \
	tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_localise_strangers_LDADD = $(JUDGE_LIBS) $(LDADD)
tests_unit_test_localise_small_SOURCES = tests/unit/test_localise_small.c tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_localise_small_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_verdict_links
tests_unit_test_verdict_links_SOURCES = tests/unit/test_verdict_links.c tests/unit/mesh.c tests/unit/mesh.h \
	tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_verdict_links_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_link_words
tests_unit_test_link_words_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_verdict_runs
tests_unit_test_verdict_runs_SOURCES = tests/unit/test_verdict_runs.c tests/unit/mesh.c tests/unit/mesh.h \
	tests/unit/random.h tests/unit/reports.c tests/unit/reports.h
tests_unit_test_verdict_runs_LDADD = $(JUDGE_LIBS) $(LDADD)
