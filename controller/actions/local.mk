# SPDX-License-Identifier: Apache-2.0
# controller/actions: decisions, from the record to the effect. Included by Makefile.am.
libcontroller_a_SOURCES += controller/actions/action.c controller/actions/action.h controller/actions/action_step.c \
	controller/actions/action_step.h controller/actions/actor.c controller/actions/actor.h controller/actions/actor_env.h \
	controller/actions/actor_joins.c controller/actions/actor_joins.h controller/actions/actor_queue.c \
	controller/actions/actor_queue.h controller/actions/actor_requests.c controller/actions/actor_requests.h \
	controller/actions/actor_told.c controller/actions/actor_told.h controller/actions/actor_views.c controller/actions/actor_views.h \
	controller/actions/admissions.c controller/actions/admissions.h controller/actions/burn_queue.c controller/actions/burn_queue.h \
	controller/actions/burns.c controller/actions/burns.h controller/actions/decider.c \
	controller/actions/decider.h controller/actions/drain.c controller/actions/drain.h \
	controller/actions/effect.c controller/actions/effect.h controller/actions/ledger_sync.c \
	controller/actions/ledger_sync.h \
	controller/actions/node_life.c controller/actions/node_life.h controller/actions/node_record.c \
	controller/actions/node_record.h controller/actions/node_view.c controller/actions/node_view.h \
	controller/actions/node_views.c controller/actions/node_views.h controller/actions/out_of_band.c \
	controller/actions/out_of_band.h controller/actions/paired.c controller/actions/paired.h \
	controller/actions/remediation.c controller/actions/remediation.h controller/actions/reports.c \
	controller/actions/reports.h controller/actions/reservation.c controller/actions/reservation.h \
	controller/actions/retest.c controller/actions/retest.h
