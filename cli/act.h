/* SPDX-License-Identifier: Apache-2.0 */
/* What orders to the controller have in common. */
#pragma once

#include <jansson.h>

struct err;
struct link;
struct link_pending;
struct page;
struct request;

/* Who asks, by the word of this host: for the records, where the token names nobody. NULL: nobody. */
const char *act_login_name(void);

/*
 * Send the order of the request's command for `argument` (NULL: it has none) beside others that are
 * under way. Errors as link_start().
 */
int act_start(struct link *link, const struct request *request, const char *argument,
	      struct link_pending **ret, struct err *err);

/* Say in the answer to it, as "undo", how to take it back, where there is a way. */
void act_put_undo(const struct request *request, const char *argument, json_t *answer);

/* The command that takes it back for `argument`. New memory; NULL: there is none. */
char *act_undo(const struct request *request, const char *argument);

/* "to undo: ...", dim. */
void act_show_undo(const char *undo, const struct page *page);
