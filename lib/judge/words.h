/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every sentence of the judge, one function per kind of finding: what was seen, what it was
 * compared with, and by how much it differs, in words that can go into a ticket unchanged. Each
 * returns new memory. Pure.
 *
 * Text from probes (subjects, notes) is truncated and stripped of control bytes, so that a sentence
 * can be printed on a terminal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct expectation;
struct peer_group;
struct problem;
struct sample;
struct verdict;
struct verdict_item;

/*
 * "cpu:5 runs at 71.2 of 79.1 GFLOP/s (90 %) in gemm.rate: ..."; `e` has all `n` >= 1 expectations,
 * at least one of them low.
 */
char *words_low(const struct sample *s, const struct expectation *e, size_t n);

/* For a value better than is possible; `worst` is the expectation against which it is worst. */
char *words_impossible(const struct sample *s, const struct expectation *worst);
/* "cpu:5 runs at 78.9 of 79.1 GFLOP/s (100 %) in gemm.rate"; as words_low(), but none is low. */
char *words_fine(const struct sample *s, const struct expectation *e, size_t n);

/* Measured, but nothing to compare it with. */
char *words_recorded(const struct sample *s);

/* Measured in a unit that nothing known is measured in. */
char *words_incomparable(const struct sample *s);

/* The probe itself says that it is bad (ok=false). */
char *words_not_ok(const struct sample *s);

/* Not measured: busy, set-up, timeout, ... */
char *words_not_measured(const struct sample *s);

/* Half or more of a group are low; `s` is one of its members. */
char *words_spread(const struct sample *s, const struct peer_group *group);

/* One member of such a group, if it has no reference but its peers. */
char *words_spread_member(const struct sample *s, const struct peer_group *group, bool low);

/* Work that a probe did not do. */
char *words_problem(const struct problem *p);

/* A probe found nothing to measure where the SKU file expects something. */
char *words_expected_device(const struct problem *p);

/* The previous run had it, and this one does not. */
char *words_uncounted(const char *check);
char *words_missing(const struct verdict_item *before, const char *profile);

/* The host in one sentence. The items must be sorted and the level set. */
char *words_host(const struct verdict *v);

/* At most `max` bytes of `text` (or NULL), cut between UTF-8 characters, without control bytes. */
char *words_clean(const char *text, size_t max);
