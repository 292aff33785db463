/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces link.c in builds without libcurl or libsystemd. */
#include "cli/link.h"

#include <errno.h>

#include "lib/base/err.h"

int link_new(const struct settings *settings UNUSED, struct link **ret UNUSED, struct err *err)
{
	return err_set(err, EINVAL,
		       "this assayctl was built without libcurl or libsystemd: it "
		       "cannot ask a controller");
}

void link_free(struct link *link UNUSED)
{
}

void link_begin(struct link *link UNUSED)
{
}

void link_begin_until(struct link *link UNUSED, uint64_t deadline_us UNUSED)
{
}

int link_get(struct link *link UNUSED, const char *path UNUSED, json_t **ret UNUSED,
	     struct err *err UNUSED)
{
	return -EINVAL;
}

int link_post(struct link *link UNUSED, const char *path UNUSED, const json_t *body UNUSED,
	      json_t **ret UNUSED, struct err *err UNUSED)
{
	return -EINVAL;
}

int link_send(struct link *link UNUSED, const struct link_sending *what UNUSED,
	      struct link_sent *ret UNUSED, struct err *err UNUSED)
{
	return -EINVAL;
}

int link_order(struct link *link UNUSED, const char *path UNUSED, const json_t *body UNUSED,
	       struct link_sent *ret UNUSED, struct err *err UNUSED)
{
	return -EINVAL;
}

int link_start(struct link *link UNUSED, const char *path UNUSED, const json_t *body UNUSED,
	       struct link_pending **ret UNUSED, struct err *err UNUSED)
{
	return -EINVAL;
}

bool link_is_done(const struct link_pending *pending UNUSED)
{
	return true;
}

int link_finish(struct link_pending *pending UNUSED, struct link_sent *ret UNUSED,
		struct err *err UNUSED)
{
	return -EINVAL;
}

void link_pending_free(struct link_pending *pending UNUSED)
{
}

int link_turn(struct link *link UNUSED, uint64_t until_us UNUSED, struct err *err UNUSED)
{
	return -EINVAL;
}

int link_list(struct link *link UNUSED, const char *path UNUSED, json_t **ret_items UNUSED,
	      struct err *err UNUSED)
{
	return -EINVAL;
}

int link_catch_ends(struct link *link UNUSED, const struct link_pause *pause UNUSED,
		    struct err *err UNUSED)
{
	return -EINVAL;
}

bool link_stopped(const struct link *link UNUSED)
{
	return true;
}

bool link_wait(struct link *link UNUSED, uint64_t deadline_us UNUSED)
{
	return false;
}
