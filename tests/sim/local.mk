# SPDX-License-Identifier: Apache-2.0
# tests/sim: a fleet on a fake clock. Included by Makefile.am.
noinst_PROGRAMS += assay-sim
assay_sim_SOURCES = controller/fleet/anomalies.c controller/fleet/baseline.c controller/fleet/baseline_hosts.c \
	controller/fleet/baseline_usual.c controller/fleet/findings.c controller/fleet/findings_fleet.c \
	controller/fleet/host_speeds.c controller/fleet/hosts.c controller/fleet/incident.c controller/fleet/report_clock.c controller/fleet/rules.c \
	controller/fleet/self_baseline.c controller/fleet/share.c controller/ingest/host_identity.c \
	controller/ingest/host_identity_store.c controller/ingest/keep.c controller/job/job_facts.c controller/job/job_loads.c controller/job/pair_record.c \
	tests/sim/act.c tests/sim/cause.c tests/sim/cause.h \
	tests/sim/fault.c tests/sim/fault.h tests/sim/grade.c tests/sim/grade.h tests/sim/host.c tests/sim/host.h \
	tests/sim/job.c tests/sim/job.h tests/sim/job_grade.c tests/sim/job_grade.h tests/sim/job_loop.c tests/sim/job_loop.h \
	tests/sim/job_plan.c tests/sim/job_plan.h tests/sim/job_wait.c tests/sim/job_wait.h \
	tests/sim/job_window.c tests/sim/job_window.h \
	tests/sim/main.c tests/sim/memory_store.c tests/sim/memory_store.h tests/sim/noise.c tests/sim/noise.h \
	tests/sim/show.c tests/sim/sim.c tests/sim/sim.h tests/sim/truth.c tests/sim/truth.h tests/sim/world.c \
	tests/sim/world.h tests/unit/random.h
assay_sim_LDADD = libjobs.a $(ATTRIBUTION_LIBS) $(BASE_LIBS)
EXTRA_DIST += tests/sim/scenarios/bad-tor.yaml tests/sim/scenarios/clean.yaml tests/sim/scenarios/clean-of-five.yaml \
	tests/sim/scenarios/impossible.yaml tests/sim/scenarios/jobs.yaml tests/sim/scenarios/jobs-clean.yaml tests/sim/scenarios/lies.yaml tests/sim/scenarios/roll-out.yaml \
	tests/sim/scenarios/roll-out-unseen.yaml tests/sim/scenarios/shared.yaml tests/sim/scenarios/silent.yaml \
	tests/sim/scenarios/storm.yaml tests/sim/scenarios/trickle.yaml tests/sim/scenarios/wrong-sku.yaml \
	tests/sim/scenarios/wrong-sku-faults.yaml
