# SPDX-License-Identifier: Apache-2.0
# controller/actions: a decision from record to effect. Included by Makefile.am.
libcontroller_a_SOURCES += controller/actions/acting.c controller/actions/acting.h controller/actions/action.h \
	controller/actions/action_inside.h controller/actions/actor.c controller/actions/actor.h \
	controller/actions/actor_ask.c controller/actions/actor_confirm.c controller/actions/actor_decide.c \
	controller/actions/actor_deny.c controller/actions/actor_drain.c controller/actions/actor_jobs.c \
	controller/actions/actor_json.c controller/actions/actor_ledger.c controller/actions/actor_nodes.c \
	controller/actions/actor_paired.c controller/actions/actor_rehearse.c controller/actions/actor_reports.c \
	controller/actions/actor_resume.c controller/actions/actor_startup.c controller/actions/actor_touch.c \
	controller/actions/node_record.c controller/actions/node_record.h controller/actions/node_view.c \
	controller/actions/node_view.h controller/actions/reservation.c controller/actions/reservation.h
