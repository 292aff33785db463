/* SPDX-License-Identifier: Apache-2.0 */
/* Common code of commands that change something through the controller. */
#pragma once

#include <jansson.h>

struct err;
struct link;
struct link_pending;
struct page;
struct request;

/* User name on this host, for the records if the token names nobody. NULL if unknown. */
const char *act_login_name(void);

/*
 * Send the request's action for `argument` (NULL: none), in parallel with pending ones. Errors as
 * link_start().
 */
int act_start(struct link *link, const struct request *request, const char *argument,
	      struct link_pending **ret, struct err *err);

/* Add the command that reverts the action to its answer, as "undo", if there is one. */
void act_put_undo(const struct request *request, const char *argument, json_t *answer);

/* The command that reverts the action for `argument`. The caller frees it; NULL: there is none. */
char *act_undo(const struct request *request, const char *argument);

/* Print "to undo: ...", dimmed. */
void act_show_undo(const char *undo, const struct page *page);
