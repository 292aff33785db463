/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends reports of a fleet at a fixed rate over persistent connections. It needs a tenth of the CPU
 * time of its controller.
 *
 *	send_reports HOST:PORT RATE SECONDS NODES FIRST_SEQ GOOD BAD
 *
 * Report i is of host i % NODES and due at i / RATE seconds, whether or not earlier ones were
 * answered: late reports are not skipped, they wait for a connection. GOOD and BAD are files with
 * the part of a report after `seq`; one host in ten is bad, a different tenth in each SEQ. Prints
 * one line of JSON: the number sent, the achieved rate, the latency from due time to answer
 * (milliseconds), the number refused, and the CPU seconds used.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
	CONNECTIONS = 256,
	REQUEST_MAX = 65536,
	ANSWER_MAX = 4096,
	EVENTS = 64,
	BAD_EVERY = 10,
	ENDS_MS = 60000
};
#define NSEC_PER_SEC 1000000000ULL

struct connection {
	int fd;
	char request[REQUEST_MAX], answer[ANSWER_MAX];
	size_t length, sent, read;
	uint64_t due_ns;
	struct connection *next; /* free */
};

struct sender {
	struct sockaddr_in address;
	double rate;
	uint64_t nodes, first_seq, began_ns, n, next, answered, refused;
	char bodies[2][REQUEST_MAX];
	double *waited_ms;
	struct connection *free,
		**last; /* a queue: the longest idle is used next, so none is idle for long */
	int poll;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static uint64_t due_ns(const struct sender *s, uint64_t i)
{
	return s->began_ns + (uint64_t)((double)i / s->rate * 1e9);
}

static void set_free(struct sender *s, struct connection *c)
{
	c->next = NULL;
	*s->last = c;
	s->last = &c->next;
}

static int put(struct connection *c)
{
	while (c->sent < c->length) {
		const ssize_t n =
			send(c->fd, c->request + c->sent, c->length - c->sent, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		c->sent += (size_t)n;
	}
	return 0;
}

/* Sends the next report over c. */
static int send_next(struct sender *s, struct connection *c)
{
	const uint64_t i = s->next++, node = i % s->nodes, seq = s->first_seq + i / s->nodes;
	const char *body = s->bodies[(node + seq) % BAD_EVERY == 0];
	char head[256];
	const int head_length = snprintf(head, sizeof(head),
					 "{\"v\":1,\"kind\":\"report\",\"node\":\"gpu-%05" PRIu64
					 "\",\"boot_id\":\"watched\",\"seq\":%" PRIu64 ",",
					 node, seq);
	const int n = snprintf(
		c->request, sizeof(c->request),
		"POST /v1/reports HTTP/1.1\r\nHost: bench\r\nContent-Length: %zu\r\n\r\n%s%s",
		(size_t)head_length + strlen(body), head, body);

	if (n < 0 || (size_t)n >= sizeof(c->request))
		return -EMSGSIZE;
	c->length = (size_t)n;
	c->sent = c->read = 0;
	c->due_ns = due_ns(s, i);
	return put(c);
}

/* Sends all due reports for which there is a free connection. */
static int send_due(struct sender *s)
{
	const uint64_t now = now_ns();
	int r = 0;

	while (r == 0 && s->free && s->next < s->n && due_ns(s, s->next) <= now) {
		struct connection *c = s->free;

		s->free = c->next;
		if (!s->free)
			s->last = &s->free;
		r = send_next(s, c);
	}
	return r;
}

/* Returns the length of a response if its header is complete, else 0. */
static size_t answer_length(const struct connection *c)
{
	const char *end = strstr(c->answer, "\r\n\r\n"),
		   *length = strcasestr(c->answer, "\r\nContent-Length:");

	if (!end)
		return 0;
	return (size_t)(end + 4 - c->answer) +
	       (length && length < end ? strtoul(length + strlen("\r\nContent-Length:"), NULL, 10)
				       : 0);
}

static int take(struct sender *s, struct connection *c)
{
	const ssize_t n = recv(c->fd, c->answer + c->read, sizeof(c->answer) - 1 - c->read, 0);
	size_t length;

	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (n == 0)
		return -ECONNRESET;
	c->read += (size_t)n;
	c->answer[c->read] = '\0';
	length = answer_length(c);
	if (length == 0 || c->read < length)
		return 0;
	s->waited_ms[s->answered++] = (double)(now_ns() - c->due_ns) / 1e6;
	s->refused += strncmp(c->answer, "HTTP/1.1 202", strlen("HTTP/1.1 202")) != 0;
	set_free(s, c);
	return 0;
}

static int connect_all(struct sender *s, struct connection *connections)
{
	const int on = 1;
	int i;

	for (i = 0; i < CONNECTIONS; i++) {
		struct connection *c = &connections[i];
		struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c };

		c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (c->fd < 0 ||
		    connect(c->fd, (struct sockaddr *)&s->address, sizeof(s->address)) < 0 ||
		    fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0 ||
		    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
		    epoll_ctl(s->poll, EPOLL_CTL_ADD, c->fd, &event) < 0)
			return -errno;
		set_free(s, c);
	}
	return 0;
}

/* A timer that fires as often as a report is due. */
static int tick(struct sender *s)
{
	const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	const struct itimerspec every = { .it_interval.tv_nsec = (long)(1e9 / s->rate),
					  .it_value.tv_nsec = 1 };
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };

	if (fd < 0 || timerfd_settime(fd, 0, &every, NULL) < 0 ||
	    epoll_ctl(s->poll, EPOLL_CTL_ADD, fd, &event) < 0)
		return -errno;
	return fd;
}

static int serve(struct sender *s, int timer)
{
	struct epoll_event events[EVENTS];
	const int n = epoll_wait(s->poll, events, EVENTS, ENDS_MS);
	uint64_t times;
	int i, r = n > 0 ? 0 : -ETIMEDOUT;

	for (i = 0; r == 0 && i < n; i++) {
		struct connection *c = events[i].data.ptr;

		if (!c)
			(void)!read(timer, &times, sizeof(times));
		else if (c->sent < c->length)
			r = put(c);
		if (r == 0 && c && (events[i].events & EPOLLIN))
			r = take(s, c);
	}
	return r == 0 ? send_due(s) : r;
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void say(const struct sender *s, double seconds)
{
	const uint64_t n = s->answered;
	struct rusage use;

	(void)getrusage(RUSAGE_SELF, &use);
	qsort(s->waited_ms, n, sizeof(*s->waited_ms), by_size);
	(void)printf("{\"reports\": %" PRIu64
		     ", \"rate\": %.0f, \"p50_ms\": %.2f, \"p99_ms\": %.2f, \"max_ms\": %.2f, "
		     "\"refused\": %" PRIu64 ", \"cpu_s\": %.2f}\n",
		     n, (double)n / seconds, s->waited_ms[n / 2], s->waited_ms[n * 99 / 100],
		     s->waited_ms[n - 1], s->refused,
		     (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
			     (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6);
}

static int run(struct sender *s)
{
	static struct connection connections[CONNECTIONS];
	int r, timer;

	s->last = &s->free;
	s->poll = epoll_create1(EPOLL_CLOEXEC);
	r = s->poll < 0 ? -errno : connect_all(s, connections);
	s->began_ns = now_ns();
	timer = r == 0 ? tick(s) : r;
	r = timer < 0 ? timer : 0;
	while (r == 0 && s->answered < s->n)
		r = serve(s, timer);
	if (r == 0)
		say(s, (double)(now_ns() - s->began_ns) / 1e9);
	return r;
}

static int read_body(const char *path, char *body)
{
	FILE *file = fopen(path, "re");
	size_t n;

	if (!file)
		return -errno;
	n = fread(body, 1, REQUEST_MAX - 1, file);
	body[n] = '\0';
	(void)fclose(file);
	return n > 0 ? 0 : -ENODATA;
}

static int address_of(char *words, struct sockaddr_in *address)
{
	char *port = strchr(words, ':');

	if (!port)
		return -EINVAL;
	*port = '\0';
	address->sin_family = AF_INET;
	address->sin_port = htons((uint16_t)strtoul(port + 1, NULL, 10));
	return inet_pton(AF_INET, words, &address->sin_addr) == 1 ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	static struct sender s;
	int r = argc == 8 ? address_of(argv[1], &s.address) : -EINVAL;

	if (r == 0) {
		s.rate = strtod(argv[2], NULL);
		s.n = (uint64_t)(s.rate * strtod(argv[3], NULL));
		s.nodes = strtoull(argv[4], NULL, 10);
		s.first_seq = strtoull(argv[5], NULL, 10);
		r = s.rate > 1 && s.n > 0 && s.nodes > 0 ? read_body(argv[6], s.bodies[0])
							 : -EINVAL;
	}
	if (r == 0)
		r = read_body(argv[7], s.bodies[1]);
	s.waited_ms = r == 0 ? calloc(s.n, sizeof(*s.waited_ms)) : NULL;
	if (r == 0)
		r = s.waited_ms ? run(&s) : -ENOMEM;
	free(s.waited_ms);
	if (r < 0)
		(void)fprintf(stderr,
			      "send_reports: %s\nusage: send_reports HOST:PORT RATE SECONDS NODES "
			      "FIRST_SEQ GOOD BAD\n",
			      strerror(-r));
	return r < 0;
}
