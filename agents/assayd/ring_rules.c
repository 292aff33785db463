/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/ring_rules.h"

#include "lib/ring/ring_layout.h"

#define TICK_US (USEC_PER_SEC / RING_RATE) /* a connection fills the bucket by this much */

const char *const ring_refusal_names[RING_REFUSALS] = {
	[RING_TAKEN] = "taken",
	[RING_RATE_LIMIT] = "rate",
	[RING_LATE] = "late",
	[RING_MESSAGE] = "message",
	[RING_DESCRIPTOR] = "descriptor",
	[RING_STRANGER] = "stranger",
	[RING_KIND] = "kind",
	[RING_LENGTH] = "size",
	[RING_HEAD] = "head",
	[RING_TWICE] = "twice",
	[RING_OF_PROCESS] = "process_full",
	[RING_OF_USER] = "user_full",
	[RING_OF_HOST] = "host_full",
	[RING_RESOURCES] = "resources",
};

const char *const ring_refusal_words[RING_REFUSALS] = {
	[RING_TAKEN] = "it was taken",
	[RING_RATE_LIMIT] = "its user connects too often",
	[RING_LATE] = "it sent nothing in time",
	[RING_MESSAGE] = "it speaks another version, or another protocol",
	[RING_DESCRIPTOR] = "it did not pass exactly one descriptor",
	[RING_STRANGER] = "the process is not a rank of a job that holds a GPU here",
	[RING_KIND] = "the descriptor it passed is not sealed memory",
	[RING_LENGTH] = "the descriptor it passed does not have the size of a ring",
	[RING_HEAD] = "the descriptor it passed is not a ring of this version",
	[RING_TWICE] = "it is already held",
	[RING_OF_PROCESS] = "its process has as many rings as rings.limits.process allows",
	[RING_OF_USER] = "its user has as many rings as rings.limits.user allows",
	[RING_OF_HOST] = "all rings together use as much memory as rings.limits.memory allows",
	[RING_RESOURCES] = "the kernel is out of memory or descriptors",
};

enum ring_refusal ring_rules_room(const struct ring_limits *limits, const struct ring_held *held)
{
	if (held->process >= limits->process)
		return RING_OF_PROCESS;
	if (held->user >= limits->user)
		return RING_OF_USER;
	if (((uint64_t)held->host + 1) * (RING_SIZE + RING_CONTROL_SIZE) > limits->bytes)
		return RING_OF_HOST;
	return RING_TAKEN;
}

/* Index of the user; for a new user a free one, or that of the least active user. */
static size_t find(struct ring_pace *pace, uid_t uid)
{
	size_t i, least = 0;

	for (i = 0; i < pace->n && pace->users[i].uid != uid; i++) {
		if (pace->users[i].full_us < pace->users[least].full_us)
			least = i;
	}
	if (i < pace->n)
		return i;
	if (pace->n < RING_USERS_MAX)
		least = pace->n++;
	pace->users[least].uid = uid;
	pace->users[least].full_us = 0;
	return least;
}

bool ring_rules_pace(struct ring_pace *pace, uid_t uid, uint64_t now_us)
{
	const size_t i = find(pace, uid);
	const uint64_t full_us = MAX(pace->users[i].full_us, now_us);

	if (full_us - now_us > (uint64_t)(RING_BURST - 1) * TICK_US)
		return false;
	pace->users[i].full_us = full_us + TICK_US;
	return true;
}

bool ring_rules_sampling(uint64_t every_us, uint64_t on_us, uint64_t real_us,
			 uint64_t *ret_change_us)
{
	const uint64_t at_us = real_us % every_us;
	const bool on = at_us < on_us;

	*ret_change_us = (on ? MIN(on_us, every_us) : every_us) - at_us;
	return on;
}
