/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/net/http_loop.h"

#include <errno.h>

#include <curl/curl.h>
#include <systemd/sd-event.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"

#define TIMER_ACCURACY_US (1 * USEC_PER_MSEC)

static int on_socket(sd_event_source *source UNUSED, int fd, uint32_t events, void *context)
{
	struct http_loop *loop = context;
	int ready = 0, running;

	if (events & (EPOLLIN | EPOLLHUP))
		ready |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		ready |= CURL_CSELECT_OUT;
	if (events & EPOLLERR)
		ready |= CURL_CSELECT_ERR;
	(void)curl_multi_socket_action(loop->multi, fd, ready, &running);
	loop->progress(loop->context);
	return 0;
}

static int on_timer(sd_event_source *source UNUSED, uint64_t now_us UNUSED, void *context)
{
	struct http_loop *loop = context;
	int running;

	(void)curl_multi_socket_action(loop->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	loop->progress(loop->context);
	return 0;
}

/* libcurl tells which events of which socket it waits for. */
static int watch_socket(CURL *easy UNUSED, curl_socket_t fd, int what, void *context, void *socket)
{
	static const uint32_t masks[] = {
		[CURL_POLL_IN] = EPOLLIN,
		[CURL_POLL_OUT] = EPOLLOUT,
		[CURL_POLL_INOUT] = EPOLLIN | EPOLLOUT,
	};
	struct http_loop *loop = context;
	sd_event_source *source = socket;

	if (what == CURL_POLL_REMOVE) {
		(void)sd_event_source_disable_unref(source);
		return 0;
	}
	if (what <= 0 || (size_t)what >= ARRAY_SIZE(masks))
		return 0;
	if (source)
		return sd_event_source_set_io_events(source, masks[what]) < 0 ? -1 : 0;
	if (sd_event_add_io(loop->event, &source, fd, masks[what], on_socket, loop) < 0)
		return -1;
	(void)sd_event_source_set_description(source, "http-socket");
	(void)curl_multi_assign(loop->multi, fd, source);
	return 0;
}

/* libcurl gives a timeout in milliseconds from now; sd-event wants microseconds on its clock. */
static int watch_timer(CURLM *multi UNUSED, long timeout_ms, void *context)
{
	struct http_loop *loop = context;
	uint64_t at_us;

	if (timeout_ms < 0)
		return sd_event_source_set_enabled(loop->timer, SD_EVENT_OFF) < 0 ? -1 : 0;
	at_us = clock_mono_us() + (uint64_t)timeout_ms * USEC_PER_MSEC;
	if (sd_event_source_set_time(loop->timer, at_us) < 0)
		return -1;
	return sd_event_source_set_enabled(loop->timer, SD_EVENT_ONESHOT) < 0 ? -1 : 0;
}

int http_loop_init(struct http_loop *loop, struct sd_event *event, struct err *err)
{
	int r = sd_event_add_time(event, &loop->timer, CLOCK_MONOTONIC, 0, TIMER_ACCURACY_US,
				  on_timer, loop);

	if (r >= 0)
		r = sd_event_source_set_enabled(loop->timer, SD_EVENT_OFF);
	if (r < 0)
		return err_errno(err, -r, "cannot create a timer");
	loop->event = sd_event_ref(event);
	loop->multi = curl_multi_init();
	if (!loop->multi)
		return err_set(err, ENOMEM, "out of memory");
	(void)curl_multi_setopt(loop->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
	(void)curl_multi_setopt(loop->multi, CURLMOPT_SOCKETDATA, loop);
	(void)curl_multi_setopt(loop->multi, CURLMOPT_TIMERFUNCTION, watch_timer);
	(void)curl_multi_setopt(loop->multi, CURLMOPT_TIMERDATA, loop);
	(void)curl_multi_setopt(loop->multi, CURLMOPT_MAXCONNECTS, (long)loop->kept);
	return 0;
}

void http_loop_release(struct http_loop *loop)
{
	if (loop->multi)
		(void)curl_multi_cleanup(loop->multi);
	(void)sd_event_source_disable_unref(loop->timer);
	(void)sd_event_unref(loop->event);
	*loop = (struct http_loop){ 0 };
}
