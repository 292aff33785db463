# SPDX-License-Identifier: Apache-2.0
# lib/hang: which rank stopped a hung job, from the data available (pure). Included by Makefile.am.
noinst_LIBRARIES += libhang.a
libhang_a_SOURCES = lib/hang/hang_case.c lib/hang/hang_case.h lib/hang/hang_chain.c lib/hang/hang_chain.h \
	lib/hang/hang_dump.c lib/hang/hang_dump.h lib/hang/hang_facts.c lib/hang/hang_facts.h lib/hang/hang_fr.c \
	lib/hang/hang_fr.h lib/hang/hang_hosts.c lib/hang/hang_hosts.h lib/hang/hang_json.c lib/hang/hang_json.h \
	lib/hang/hang_judge.c lib/hang/hang_judge.h lib/hang/hang_mismatch.c lib/hang/hang_mismatch.h \
	lib/hang/hang_part.c lib/hang/hang_part.h \
	lib/hang/hang_pickle.c lib/hang/hang_pickle.h lib/hang/hang_rows.c lib/hang/hang_rows.h \
	lib/hang/hang_rules.c lib/hang/hang_rules.h lib/hang/hang_text.c lib/hang/hang_text.h \
	lib/hang/hang_value.c lib/hang/hang_value.h lib/hang/hang_verdict.c lib/hang/hang_verdict.h lib/hang/hang_words.c lib/hang/hang_words.h
libhang_a_SOURCES += lib/hang/hang_ras.c lib/hang/hang_ras.h lib/hang/hang_ras_answer.c lib/hang/hang_ras_answer.h \
	lib/hang/hang_ras_json.c lib/hang/hang_ras_json.h lib/hang/hang_ras_text.c lib/hang/hang_ras_text.h \
	lib/hang/hang_ras_version.c lib/hang/hang_ras_version.h lib/hang/hang_stack.c lib/hang/hang_stack.h
HANG_LIBS = libhang.a
