# SPDX-License-Identifier: Apache-2.0
# lib/report: sample/1, problem, report/1: the formats between programs. Included by Makefile.am.
libassay_a_SOURCES += lib/report/host_parts.c lib/report/host_parts.h lib/report/host_parts_words.c lib/report/host_parts_words.h \
	lib/report/node_name.c lib/report/node_name.h lib/report/rank_env.c lib/report/rank_env.h \
	lib/report/report.c lib/report/report.h \
	lib/report/report_read.c lib/report/report_tables.h lib/report/sample.c
