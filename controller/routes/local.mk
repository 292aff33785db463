# SPDX-License-Identifier: Apache-2.0
# controller/routes: one file per resource: argument, call, JSON; metrics. Included by Makefile.am.
libcontroller_a_SOURCES += controller/routes/background_job.c controller/routes/background_job.h \
	controller/routes/life.c controller/routes/life.h controller/routes/metrics.c controller/routes/metrics.h \
	controller/routes/metric_series.c controller/routes/metric_series.h controller/routes/metrics_walk.c \
	controller/routes/metrics_walk.h controller/routes/routes_metrics.c controller/routes/routes_metrics.h \
	controller/routes/process_use.c controller/routes/process_use.h controller/routes/routes.c controller/routes/routes.h \
	controller/routes/routes_act.c controller/routes/routes_acted.c controller/routes/routes_advice.c \
	controller/routes/routes_advice.h controller/routes/routes_burn.c controller/routes/fleet_answer.c \
	controller/routes/fleet_answer.h controller/routes/fleet_feed.c controller/routes/fleet_feed.h controller/routes/routes_changes.c \
	controller/routes/routes_changes.h controller/routes/routes_campaigns.c controller/routes/routes_diagnose.c controller/routes/routes_fleet.c controller/routes/routes_hang.c \
	controller/routes/routes_investigations.c controller/routes/routes_investigations.h controller/routes/routes_jobs.c \
	controller/routes/routes_jobs.h controller/routes/routes_join.c controller/routes/routes_join.h controller/routes/routes_matrices.c controller/routes/routes_nodes.c \
	controller/routes/routes_orders.c controller/routes/routes_orders_given.c controller/routes/routes_page.c controller/routes/routes_page.h controller/routes/routes_plan.c controller/routes/routes_processes.c \
	controller/routes/routes_replay.c controller/routes/routes_reports.c controller/routes/routes_series.c controller/routes/routes_session.c controller/routes/routes_session.h \
	controller/routes/routes_steps.c controller/routes/routes_topology.c controller/routes/routes_whoami.c
