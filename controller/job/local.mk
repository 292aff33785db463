# SPDX-License-Identifier: Apache-2.0
# controller/job: traces of jobs, their analysis, and its consequences. Included by Makefile.am.
libcontroller_a_SOURCES += controller/job/accused.c controller/job/accused.h controller/job/accusers.c \
	controller/job/accusers.h controller/job/advice.c controller/job/advice.h controller/job/analysis.c \
	controller/job/analysis.h controller/job/beats.c controller/job/beats.h controller/job/beats_kept.c controller/job/beats_kept.h controller/job/beats_told.c controller/job/beats_told.h \
	controller/job/diagnosing.c controller/job/diagnosing.h controller/job/diagnosis_groups.c controller/job/diagnosis_groups.h controller/job/diagnosis_plan.c \
	controller/job/diagnosis_plan.h controller/job/diagnosis_record.c controller/job/diagnosis_record.h controller/job/diagnosis_rerun.c controller/job/diagnosis_rerun.h controller/job/investigating.c \
	controller/job/investigating.h controller/job/job_advice.c controller/job/job_advice.h controller/job/investigation.c controller/job/investigation.h controller/job/job_facts.c \
	controller/job/hang_asks.c controller/job/hang_asks.h controller/job/hang_board.c controller/job/hang_board.h controller/job/hang_doc.c controller/job/hang_doc.h \
	controller/job/hang_docs.c controller/job/hang_docs.h controller/job/hang_job.c controller/job/hang_job.h controller/job/hang_logs.c controller/job/hang_logs.h controller/job/hang_merge.c controller/job/hang_merge.h \
	controller/job/hang_places.c controller/job/hang_places.h controller/job/hangs.c controller/job/hangs.h \
	controller/job/group_brought.c controller/job/group_brought.h controller/job/job_loads.c controller/job/job_loads.h controller/job/link_pairs.c controller/job/link_pairs.h \
	controller/job/link_thirds.c controller/job/link_thirds.h controller/job/parts.c controller/job/parts.h controller/job/pair_brought.c controller/job/pair_brought.h controller/job/pair_record.c controller/job/pair_record.h controller/job/run_pace.c controller/job/run_pace.h \
	controller/job/job_facts.h controller/job/job_judging.c controller/job/job_judging.h controller/job/job_live.c \
	controller/job/job_live.h controller/job/job_plan.c controller/job/job_plan.h controller/job/plan_check.c controller/job/plan_check.h controller/job/plan_facts.c controller/job/plan_facts.h controller/job/plan_gains.c controller/job/plan_gains.h controller/job/plan_view.c controller/job/plan_view.h controller/job/summary_remedies.c controller/job/summary_remedies.h controller/job/job_pods.c controller/job/job_pods.h controller/job/job_prediction.c \
	controller/job/job_prediction.h controller/job/job_restarts.c controller/job/job_restarts.h controller/job/job_speeds.c controller/job/job_speeds.h controller/job/job_suspects.c \
	controller/job/job_suspects.h controller/job/job_view.c controller/job/job_view.h \
	controller/job/jobs.c controller/job/jobs.h controller/job/placement.c controller/job/placement.h \
	controller/job/placing.c controller/job/placing.h controller/job/prediction.c controller/job/prediction.h controller/job/summary.c \
	controller/job/summary.h controller/job/summary_detail.c controller/job/summary_detail.h controller/job/summary_late.c controller/job/summary_late.h controller/job/summary_place.c \
	controller/job/summary_place.h controller/job/tested_alone.c controller/job/tested_alone.h controller/job/trace_files.c controller/job/trace_files.h
