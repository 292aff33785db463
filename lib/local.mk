# SPDX-License-Identifier: Apache-2.0
# Part of Makefile.am: topology and the judge.

# ---- lib: topology (hwloc chooses the file) ----------------------------------
noinst_LIBRARIES += libtopology.a
libtopology_a_SOURCES = lib/topology.c lib/topology.h lib/topology_build.c lib/topology_build.h \
	lib/rehearse.c lib/rehearse.h lib/topology_json.c lib/topology_pci.c lib/topology_pci.h
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
	tests/unit/test_topology_files tests/unit/test_topology_json tests/unit/test_topology_pci
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
	lib/judge/missing.c lib/judge/missing.h lib/judge/peers.c lib/judge/peers.h \
	lib/judge/reference.c lib/judge/reference.h \
	lib/judge/stats.c lib/judge/stats.h lib/judge/verdict.c lib/judge/verdict.h \
	lib/judge/admit.c lib/judge/admit.h lib/judge/policy.c lib/judge/policy.h \
	lib/judge/sensitivity.c lib/judge/sensitivity.h lib/judge/sensitivity_rows.c \
	lib/judge/sku.c lib/judge/sku.h lib/judge_files.c lib/judge_files.h \
	lib/judge/verdict_json.c lib/judge/verdict_merge.c lib/judge/words.c lib/judge/words.h
JUDGE_LIBS = libjudge.a

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

UNIT_TESTS += tests/unit/test_verdict_json
tests_unit_test_verdict_json_SOURCES = tests/unit/test_verdict_json.c \
	tests/unit/reports.c tests/unit/reports.h
tests_unit_test_verdict_json_LDADD = $(JUDGE_LIBS) $(LDADD)

UNIT_TESTS += tests/unit/test_verdict_random
tests_unit_test_verdict_random_SOURCES = tests/unit/test_verdict_random.c tests/unit/random.h \
	tests/unit/reports.c tests/unit/reports.h
tests_unit_test_verdict_random_LDADD = $(JUDGE_LIBS) $(LDADD)
