# SPDX-License-Identifier: Apache-2.0
# controller/fleet: what hosts have been: baselines, drift, findings, incidents, presence. Included by Makefile.am.
libcontroller_a_SOURCES += controller/fleet/arrival.c controller/fleet/arrival.h controller/fleet/baseline.c \
	controller/fleet/baseline.h controller/fleet/baseline_hosts.c controller/fleet/baseline_hosts.h \
	controller/fleet/baseline_inside.h controller/fleet/baseline_lines.c controller/fleet/baseline_room.c \
	controller/fleet/baseline_room.h controller/fleet/baseline_store.c controller/fleet/baseline_store.h \
	controller/fleet/baseline_usual.c controller/fleet/baseline_usual.h controller/fleet/drift.c controller/fleet/drift.h \
	controller/fleet/findings.c controller/fleet/findings.h controller/fleet/findings_fleet.c \
	controller/fleet/findings_inside.h controller/fleet/findings_row.c controller/fleet/findings_row.h \
	controller/fleet/hosts.c controller/fleet/hosts.h controller/fleet/incident.c controller/fleet/incident.h \
	controller/fleet/live.c controller/fleet/live.h controller/fleet/opinion.c controller/fleet/opinion.h \
	controller/fleet/rules.c controller/fleet/rules.h controller/fleet/share.c controller/fleet/share.h \
	controller/fleet/shift.c controller/fleet/shift.h controller/fleet/usual.c controller/fleet/usual.h \
	controller/fleet/usual_bytes.c
