/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of `assayctl why`: labelled lines, wrapped under their own start on
 * a terminal and whole elsewhere, so that a ticket or grep gets them whole.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct page;

/* A heading after an empty line. */
void ticket_head(const struct page *page, const char *text);

/* "  label     text"; text is a stranger's, and left out when it is empty. */
void ticket_line(const struct page *page, const char *label, const char *text);

/* The line of each part of a list (parts.h), the first one labelled. */
void ticket_parts(const struct page *page, const char *label, const json_t *list);

/*
 * One finding of `assay-controller`'s why: the lines that say what was seen,
 * against what, how often, what would clear it and which reports say so.
 */
void ticket_finding(const struct page *page, size_t number, const json_t *item,
		    const json_t *incidents);
