# SPDX-License-Identifier: Apache-2.0
# lib/policy: the fleet: life cycle, findings, decisions, budgets, breaker, replay (pure). Included by Makefile.am.
libjudge_a_SOURCES += lib/policy/bad_run.c lib/policy/bad_run.h lib/policy/blame.c lib/policy/blame.h lib/policy/breaker.c lib/policy/breaker.h \
	lib/policy/budget.c lib/policy/budget.h lib/policy/decide.c lib/policy/decide.h \
	lib/policy/decide_alike.c lib/policy/decide_alike.h lib/policy/decide_cordon.c lib/policy/decide_cordon.h \
	lib/policy/decide_drain.c lib/policy/decide_drain.h lib/policy/decide_gain.c lib/policy/decide_gain.h lib/policy/decide_groups.c \
	lib/policy/decide_groups.h lib/policy/decide_inside.h \
	lib/policy/decide_let_go.c lib/policy/decide_let_go.h lib/policy/decide_notices.c lib/policy/decide_notices.h \
	lib/policy/decide_orders.c lib/policy/decide_shared.c lib/policy/decide_shared.h lib/policy/decide_traits.c lib/policy/decide_traits.h \
	lib/policy/deciding.c lib/policy/deciding.h lib/policy/deny.c lib/policy/deny.h lib/policy/diagnosis.c lib/policy/diagnosis.h \
	lib/policy/fleet.c lib/policy/fleet.h \
	lib/policy/fleet_event.c lib/policy/fleet_jobs.c lib/policy/fleet_jobs.h lib/policy/job_judge.c lib/policy/job_judge.h \
	lib/policy/hung.c lib/policy/hung.h lib/policy/judge_files.c lib/policy/judge_files.h lib/policy/life.c \
	lib/policy/life.h lib/policy/manual_rate.c lib/policy/manual_rate.h lib/policy/names.c lib/policy/names.h \
	lib/policy/pair_rungs.c lib/policy/pair_rungs.h lib/policy/rungs.c lib/policy/rungs.h \
	lib/policy/policy.c lib/policy/policy.h lib/policy/policy_jobs.c lib/policy/policy_jobs.h lib/policy/policy_mode.c \
	lib/policy/policy_mode.h lib/policy/replay.c lib/policy/replay.h lib/policy/restarts.c lib/policy/restarts.h \
	lib/policy/standstill.c lib/policy/standstill.h lib/policy/startup.c \
	lib/policy/startup.h lib/policy/suspicion.c lib/policy/suspicion.h lib/policy/windows.c lib/policy/windows.h
