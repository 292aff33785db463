# SPDX-License-Identifier: Apache-2.0
# lib/judge: one host: references, peers, verdict, localisation, sentences (pure). Included by Makefile.am.
libjudge_a_SOURCES += lib/judge/admit.c lib/judge/admit.h lib/judge/heat.c lib/judge/heat.h lib/judge/link_words.c lib/judge/link_words.h \
	lib/judge/localise.c lib/judge/localise.h lib/judge/localise_cells.c lib/judge/localise_cells.h \
	lib/judge/localise_rates.c lib/judge/localise_rates.h lib/judge/missing.c \
	lib/judge/missing.h lib/judge/peers.c lib/judge/peers.h lib/judge/reference.c lib/judge/reference.h lib/judge/rhythm.c lib/judge/rhythm.h \
	lib/judge/sensitivity.c lib/judge/sensitivity.h lib/judge/sensitivity_rows.c lib/judge/sensitivity_rows.h lib/judge/silicon.c \
	lib/judge/silicon.h lib/judge/sku.c lib/judge/sku.h \
	lib/judge/standing.c lib/judge/standing.h lib/judge/stats.c lib/judge/stats.h lib/judge/tomography.c \
	lib/judge/tomography.h lib/judge/tomography_fit.c lib/judge/tomography_fit.h lib/judge/trend.c lib/judge/trend.h \
	lib/judge/twins.c lib/judge/twins.h lib/judge/verdict.c lib/judge/verdict.h lib/judge/verdict_item.c \
	lib/judge/verdict_counts.c lib/judge/verdict_counts.h lib/judge/verdict_item.h lib/judge/verdict_json.c \
	lib/judge/verdict_links.c lib/judge/verdict_links.h \
	lib/judge/verdict_merge.c lib/judge/verdict_whole.c lib/judge/verdict_whole.h lib/judge/words.c lib/judge/words.h
