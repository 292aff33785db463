/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of `assayctl why`: labelled lines, wrapped and indented on a terminal, but not
 * elsewhere, so that tickets and grep get whole lines.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct page;

/* An empty line and a heading. */
void ticket_head(const struct page *page, const char *text);

/* "  label     text"; `text` is untrusted; prints nothing if it is empty. */
void ticket_line(const struct page *page, const char *label, const char *text);

/* A line for each part of a list (parts.h); only the first is labelled. */
void ticket_parts(const struct page *page, const char *label, const json_t *list);

/*
 * One finding in the controller's why: what was measured, against what, how often, what would
 * clear it, and in which reports.
 */
void ticket_finding(const struct page *page, size_t number, const json_t *item,
		    const json_t *incidents);
