/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam to RDMA devices: a table of operations, one implementation over
 * libibverbs (verbs*.c), one of a simulated fabric in tests/fakes. Everything
 * above it (flows, cells, probes) knows neither.
 *
 * A queue is a reliable connected queue pair with its completion queue. It is
 * connected to another one, of this process or of another host, or to itself:
 * then what it writes comes back through its own port.
 *
 *	list -> open -> region_add, queue_open -> queue_connect -> post, poll, wait
 *
 * Errors are about set-up. What becomes of posted work is told by poll() in
 * struct rdma_done: a path that fails is a sick link, not an error.
 *
 * Sources: ibv_*(3) of rdma-core; InfiniBand Architecture Specification
 * Volume 1 (states of a queue pair, timeouts).
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct rdma_device;
struct rdma_engine;
struct rdma_queue;

enum {
	RDMA_NAME_SIZE = 64,
	RDMA_STATE_SIZE = 160,
	RDMA_MODEL_SIZE = 24,
	RDMA_PORTS_MAX = 64,	  /* of one host */
	RDMA_GIDS_MAX = 1024,	  /* of one port */
	RDMA_GID_INDEX_MAX = 255, /* struct ibv_global_route has 8 bits for it */
	RDMA_QUEUES_MAX = 16,	  /* that share their completions */
	RDMA_BATCH_MAX = 64,	  /* work requests of one post(), completions of one poll() */
};

enum rdma_layer { RDMA_ETHERNET, RDMA_INFINIBAND };

struct rdma_port {
	char device[RDMA_NAME_SIZE]; /* "mlx5_0" */
	unsigned number;	     /* from 1 */
	char pci[RDMA_NAME_SIZE];    /* "0000:1b:00.0", "" without */
	char model[RDMA_MODEL_SIZE]; /* "15b3:1021", "" without */
	char state[RDMA_STATE_SIZE]; /* "down", or why it cannot be told */
	bool active;
	bool unknown;	       /* it could not be looked at; `state` says why */
	int layer;	       /* enum rdma_layer */
	bool wants_grh;	       /* InfiniBand that is reached by GID, not by LID alone */
	unsigned mtu, mtu_max; /* bytes: active and largest */
	double bytes_per_s;    /* nominal rate, one way; of a bond that of one member */
	unsigned members;      /* of a bond; 0 or 1: it is none */
	bool unconnected;      /* its device has no reliable connections (EFA, usNIC, iWARP) */
	int numa_node;	       /* -1 unknown */
};

enum rdma_gid_type { RDMA_GID_IB, RDMA_GID_ROCE_V1, RDMA_GID_ROCE_V2 };

struct rdma_gid {
	unsigned char raw[16];
	unsigned index;
	int type; /* enum rdma_gid_type */
};

/* Memory that a device may read and write. */
struct rdma_region {
	void *handle; /* of the engine */
	void *at;
	uint64_t bytes;
	uint32_t lkey, rkey;
};

/* Memory of another device, as its driver hands it out. */
struct rdma_dmabuf {
	int fd;		 /* borrowed; may be closed once it is registered */
	uint64_t offset; /* in it */
	uint64_t bytes;
	void *at; /* its address for requests */
};

/* What the other side must know of a queue to connect to it. */
struct rdma_end {
	uint32_t number; /* of the queue pair */
	uint32_t psn;	 /* first packet sequence number, 24 bits */
	uint16_t lid;	 /* InfiniBand within a subnet */
	unsigned char gid[16];
	unsigned mtu;  /* bytes */
	uint16_t pkey; /* of this side; not sent to the other */
};

/* The bit of full membership: two limited members of a partition do not talk (IBTA 10.9.1.1). */
#define RDMA_PKEY_FULL 0x8000
#define RDMA_PKEY_DEFAULT 0xffff
/* device, port */
#define RDMA_PKEY_LIMITED_WORDS                                                                 \
	"%s port %u is a limited member of each of its partitions, and limited members do not " \
	"reach each "                                                                           \
	"other: ask for full membership of one (--pkey-index takes a limited one anyway)"

struct rdma_queue_options {
	unsigned port;
	/*
	 * A queue of the same device whose completions this one shares: poll() and wait() of
	 * either are for both. NULL: its own. Whoever drives several queues polls one place.
	 */
	struct rdma_queue *with;
	unsigned sharers;  /* that will share this one's, itself included; 0 is 1 */
	int gid_index;	   /* of this side; -1: none (InfiniBand within a subnet) */
	unsigned depth;	   /* work requests that may be outstanding */
	unsigned receives; /* the same of receives; 0: nothing is sent to this one */
	bool events;	   /* wait() will be called */
	unsigned retries;  /* of a packet, 0 to 7 */
	unsigned timeout;  /* of one try: 4.096 us x 2^timeout, 1 to 31 */
	unsigned mtu;	   /* bytes; 0: the port's */
	uint8_t traffic_class;
	uint8_t sl;	/* service level of InfiniBand, priority of RoCE */
	int pkey_index; /* of the port's table; -1: the first with full membership */
};

enum rdma_opcode {
	RDMA_WRITE,
	RDMA_READ,
	RDMA_SEND,
	RDMA_WRITE_TELL, /* a write that uses up a receive too, so that the other side knows */
};

struct rdma_work {
	int opcode; /* enum rdma_opcode */
	uint64_t id;
	void *local;
	uint32_t lkey, length;
	uint64_t remote;
	uint32_t rkey;
	bool signalled; /* ends in a struct rdma_done; one that fails always does */
	bool inlined;	/* small: goes with the request itself */
};

/* Room for what the other side sends, which has no address of its own. A write that tells leaves it
 * as it is. */
struct rdma_receive {
	uint64_t id;
	void *local;
	uint32_t lkey, length;
};

enum rdma_status {
	RDMA_OK,
	RDMA_RETRY_EXCEEDED, /* the other side does not answer: the path is dead */
	RDMA_RNR_EXCEEDED,   /* it is not ready to receive */
	RDMA_REMOTE_ACCESS,  /* it does not allow this access */
	RDMA_REMOTE_INVALID, /* it calls the request none that it can take */
	RDMA_REMOTE_ERROR,   /* it failed otherwise */
	RDMA_LOCAL_ERROR,    /* this side: protection, length, a broken queue pair */
	RDMA_FLUSHED,	     /* given up because an earlier one failed */
};

struct rdma_done {
	uint64_t id;
	int status;	      /* enum rdma_status */
	uint32_t raw, vendor; /* as the library and the device say it */
	bool received;	      /* a receive, not work; known only of what went well */
};

/* All that was ever posted on a queue. */
struct rdma_posted {
	uint64_t requests, bytes;
};

struct rdma_ops {
	const char *name; /* "verbs", "simulated" */
	/*
	 * All ports, by device and number; returns how many (at most `max`, more are warned of).
	 * Without those of virtual functions: they belong to guests, and are slices of a port
	 * that is there itself. -ENOSYS: no RDMA in this kernel.
	 */
	int (*list)(struct rdma_engine *e, struct rdma_port *ret_ports, size_t max, struct err *err);
	int (*open)(struct rdma_engine *e, const char *device, struct rdma_device **ret,
		    struct err *err);
	void (*close)(struct rdma_device *d);
	/* The GIDs of a port that are not empty and can be used; returns how many. */
	int (*gids)(struct rdma_device *d, unsigned port, struct rdma_gid *ret_gids, size_t max,
		    struct err *err);
	int (*region_add)(struct rdma_device *d, void *at, uint64_t bytes, struct rdma_region *ret,
			  struct err *err);
	void (*region_remove)(struct rdma_region *r);
	int (*queue_open)(struct rdma_device *d, const struct rdma_queue_options *options,
			  struct rdma_queue **ret, struct err *err);
	void (*queue_close)(struct rdma_queue *q);
	/* What the other side needs. */
	void (*queue_end)(const struct rdma_queue *q, struct rdma_end *ret);
	/* -ETIMEDOUT: the address of the other side could not be resolved. */
	int (*queue_connect)(struct rdma_queue *q, const struct rdma_end *peer, struct err *err);
	/* All of `n` (at most RDMA_BATCH_MAX) with one doorbell. -ENOMEM: the queue is full. */
	int (*post)(struct rdma_queue *q, const struct rdma_work *work, size_t n, struct err *err);
	/* The same of receives; a send, or a write that tells, uses up one. */
	int (*receive)(struct rdma_queue *q, const struct rdma_receive *receives, size_t n,
		       struct err *err);
	/* What has ended, on all queues that share: how many, 0 when nothing has. */
	int (*poll)(struct rdma_queue *q, struct rdma_done *ret, size_t max, struct err *err);
	/* Sleep until poll() may have something. -ETIME at the deadline. Needs `events`. */
	int (*wait)(struct rdma_queue *q, uint64_t deadline_us, struct err *err);
	/*
	 * Of several queues that share nothing, at most 64: the same, until poll() of some may
	 * have something; `ret_ready` has their bits. Where no event was asked for yet it is, and
	 * those are ready at once. NULL: the engine cannot.
	 */
	int (*wait_any)(struct rdma_queue *const *queues, size_t n, uint64_t deadline_us,
			uint64_t *ret_ready, struct err *err);
	uint64_t (*now_ns)(struct rdma_engine *e); /* monotonic */
	/*
	 * A counter of constant rate that is cheaper to read where the clock takes a system call
	 * (as in a guest); NULL: now_ns() is as good.
	 */
	uint64_t (*ticks)(struct rdma_engine *e);
	/* A port of an open device as it is now. -ENODEV: the device is gone. */
	int (*port_now)(struct rdma_device *d, unsigned port, struct rdma_port *ret,
			struct err *err);
	/* NULL: the engine does not count. */
	struct rdma_posted (*posted)(const struct rdma_queue *q);
	/* Memory of another device. -EOPNOTSUPP: this one cannot. NULL: the engine cannot. */
	int (*region_add_dmabuf)(struct rdma_device *d, const struct rdma_dmabuf *memory,
				 struct rdma_region *ret, struct err *err);
	/* Requests take their time and move no data: a fabric on which only schedules are tried. */
	bool hollow;
};

/* An engine begins with its operations. */
struct rdma_engine {
	const struct rdma_ops *ops;
};

/* The finest clock of an engine, in ticks of a constant rate: nanoseconds when it has no other. */
static inline uint64_t rdma_ticks(struct rdma_engine *e)
{
	return e->ops->ticks ? e->ops->ticks(e) : e->ops->now_ns(e);
}

/* libibverbs; a static object, nothing to free. */
struct rdma_engine *rdma_verbs(void);
