# SPDX-License-Identifier: Apache-2.0
# assay-sim: included by Makefile.am. It links what the controller judges with, and a store in memory.
noinst_PROGRAMS += assay-sim
assay_sim_SOURCES = tests/sim/act.c tests/sim/cause.c tests/sim/cause.h tests/sim/fault.c tests/sim/fault.h tests/sim/grade.c tests/sim/grade.h \
	tests/sim/host.c tests/sim/host.h tests/sim/main.c tests/sim/memory_store.c tests/sim/memory_store.h \
	tests/sim/noise.c tests/sim/noise.h tests/sim/show.c tests/sim/sim.c tests/sim/sim.h tests/sim/truth.c tests/sim/truth.h \
	tests/sim/world.c tests/sim/world.h tests/unit/random.h \
	controller/arrival.c controller/baseline.c controller/baseline_lines.c controller/baseline_room.c controller/baseline_usual.c controller/findings.c \
	controller/findings_fleet.c controller/findings_row.c controller/hosts.c controller/incident.c controller/keep.c \
	controller/rules.c controller/share.c controller/shift.c controller/speaker.c controller/speaker_store.c controller/usual.c
assay_sim_LDADD = $(JUDGE_LIBS) $(BASE_LIBS)
EXTRA_DIST += docs/sim.md tests/system/test_sim.py tests/sim/scenarios/bad-tor.yaml tests/sim/scenarios/clean.yaml \
	tests/sim/scenarios/clean-of-five.yaml tests/sim/scenarios/impossible.yaml tests/sim/scenarios/shared.yaml \
	tests/sim/scenarios/wrong-sku-faults.yaml tests/sim/scenarios/lies.yaml \
	tests/sim/scenarios/roll-out.yaml tests/sim/scenarios/roll-out-unseen.yaml tests/sim/scenarios/silent.yaml \
	tests/sim/scenarios/storm.yaml tests/sim/scenarios/trickle.yaml tests/sim/scenarios/wrong-sku.yaml
