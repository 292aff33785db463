# SPDX-License-Identifier: Apache-2.0
# controller/fleet: the history of hosts: baselines, drift, findings, incidents, presence. Included by Makefile.am.
libcontroller_a_SOURCES += controller/fleet/anomalies.c controller/fleet/anomalies.h controller/fleet/baseline.c \
	controller/fleet/baseline.h controller/fleet/baseline_hosts.c controller/fleet/baseline_hosts.h \
	controller/fleet/baseline_store.c controller/fleet/baseline_store.h controller/fleet/baseline_usual.c \
	controller/fleet/baseline_usual.h controller/fleet/drift.c controller/fleet/drift.h controller/fleet/findings.c \
	controller/fleet/findings.h controller/fleet/findings_fleet.c controller/fleet/findings_fleet.h controller/fleet/fleet_news.c \
	controller/fleet/fleet_news.h controller/fleet/fleet_view.c controller/fleet/fleet_view.h controller/fleet/host_speeds.c \
	controller/fleet/host_speeds.h \
	controller/fleet/hosts.c \
	controller/fleet/hosts.h controller/fleet/incident.c controller/fleet/incident.h controller/fleet/live.c \
	controller/fleet/live.h controller/fleet/opinion.c controller/fleet/opinion.h controller/fleet/report_clock.c \
	controller/fleet/report_clock.h controller/fleet/rules.c controller/fleet/rules.h controller/fleet/self_baseline.c \
	controller/fleet/self_baseline.h controller/fleet/self_baseline_bytes.c controller/fleet/self_baseline_bytes.h controller/fleet/share.c \
	controller/fleet/share.h
