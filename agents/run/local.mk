# SPDX-License-Identifier: Apache-2.0
# agents/run: plan, runner, supervisor, report, the host's stored results. Included by Makefile.am.
noinst_LIBRARIES += libagent.a
libagent_a_SOURCES = agents/run/err_tail.c agents/run/err_tail.h agents/run/job.c agents/run/job.h \
	agents/run/probe_output.c agents/run/probe_output.h agents/run/probe_problem.c agents/run/probe_problem.h \
	agents/run/process_tree.c agents/run/process_tree.h agents/run/runner.c agents/run/runner.h agents/run/supervisor.c \
	agents/run/supervisor.h
noinst_LIBRARIES += libkeep.a
libkeep_a_SOURCES = agents/run/device_users.c agents/run/device_users.h agents/run/history.c agents/run/history.h \
	agents/run/sku_host.c agents/run/sku_host.h agents/run/spool.c agents/run/spool.h agents/run/yield.c \
	agents/run/yield.h
KEEP_LIBS = libkeep.a $(JUDGE_LIBS)
libcommands_a_SOURCES += agents/run/again.c agents/run/again.h agents/run/describe.c agents/run/describe.h agents/run/exit_style.c agents/run/exit_style.h \
	agents/run/keep.c agents/run/keep.h agents/run/live.c agents/run/live.h agents/run/node_name.c agents/run/node_name.h \
	agents/run/parts_file.c agents/run/parts_file.h \
	agents/run/plan.c agents/run/plan.h agents/run/profiles.c agents/run/profiles.h agents/run/references.c \
	agents/run/references.h agents/run/run.c agents/run/run.h agents/run/run_neighbors.c agents/run/run_neighbors.h \
	agents/run/run_options.c agents/run/run_options.h agents/run/run_report.c agents/run/run_report.h \
	agents/run/run_settings.c agents/run/run_settings.h agents/run/sample_file.c agents/run/sample_file.h \
	agents/run/sku_name.c agents/run/sku_name.h agents/run/stop.c agents/run/stop.h agents/run/suite.c agents/run/suite.h agents/run/verdict_file.c \
	agents/run/verdict_file.h agents/run/watch_draft.c agents/run/watch_draft.h
