/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one communicator of a job says of its collectives, in memory that outlives the job: the
 * layout of a file (memfd_create(2)) that the NCCL profiler plug-in makes, sizes and seals
 * (F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL), and hands to assayd over a socket of its own.
 *
 *	ring_head, RING_HEAD_SIZE bytes		who it is, and how far it is
 *	ring_slot[RING_SLOTS]			an operation each: number n is in slot n % RING_SLOTS
 *
 * A slot is of an operation from its start until RING_SLOTS others have begun: what is in flight is
 * in the ring as what has ended is, so a process that is killed, or hangs, leaves its last
 * operation. Of a slot `stamp` says which operation it holds: n + 1; 0: none yet, or it is being
 * written. The writer stores 0, then all else, then the stamp (release); what comes later (starts,
 * stops) is stored with the stamp standing. A reader copies the slot between two reads of the stamp
 * that agree and are not 0. It trusts nothing: the writer may be anybody's program.
 *
 * Words are of the host's byte order: writer and reader are on one machine. Stamps of the host are
 * CLOCK_MONOTONIC, those of a GPU its %globaltimer; both in nanoseconds.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define RING_MAGIC UINT64_C(0x01676e6972796173) /* "sayring" and a version of the magic itself */

enum {
	RING_VERSION = 1,
	RING_HEAD_SIZE = 4096,
	RING_SLOT_SIZE = 128,
	RING_SLOTS = 4096,
	RING_NAME_SIZE = 64,
	RING_SIZE = RING_HEAD_SIZE + RING_SLOT_SIZE * RING_SLOTS, /* 516 KiB */
	RING_CHANNELS = 128, /* more than MAXCHANNELS (64) of NCCL 2.28 */
	/* KernelCh of a mask of events: without it nobody knows what has started or ended. */
	RING_MASK_KERNELS = 64,
};

/* Names of operations, as NCCL says them ("AllReduce"): places in ring_func_names. */
enum ring_func {
	RING_OTHER,
	RING_ALL_REDUCE,
	RING_ALL_GATHER,
	RING_REDUCE_SCATTER,
	RING_BROADCAST,
	RING_REDUCE,
	RING_SEND,
	RING_RECV,
	RING_ALL_TO_ALL,
	RING_FUNCS
};

enum ring_flag {
	RING_GRAPH = 1,	    /* captured in a graph: it was played again */
	RING_NO_GPU = 2,    /* no stamp of a GPU: those of the host are all there is */
	RING_STAMP_BAD = 4, /* a stamp of its GPU is of a later work, or earlier: use none */
	RING_DONE = 8,	    /* all channels that started have stopped, and none can come */
};

/* What a proxy waits for: states of NCCL's profiler interface (nccl_profiler.h), by number. */
enum ring_wait {
	RING_WAIT_NONE = 0,
	RING_WAIT_SEND_GPU = 8,
	RING_WAIT_SEND = 9,
	RING_WAIT_RECV = 10,
	RING_WAIT_RECV_FLUSH = 11,
	RING_WAIT_RECV_GPU = 12,
	RING_WAIT_SEND_PEER = 20,
};

struct ring_control {
	uint64_t magic;
	uint32_t version;
	_Atomic uint32_t mask; /* of events that are wanted now; 0: none */
	/* CLOCK_MONOTONIC until which that is so, 0: without an end. assayd writes it on while it
	   lives, so that nothing is recorded for a reader who is gone. */
	_Atomic uint64_t until_ns;
};

struct ring_head {
	uint64_t magic;
	uint32_t version, head_size, slot_size, n_slots;
	uint64_t comm_id;		/* the same on all ranks of the communicator */
	int32_t n_nodes, n_ranks, rank; /* `rank` in the communicator */
	int32_t pid;			/* as the process sees itself: a claim */
	uint32_t api;			/* version of the profiler interface: 3 to 6 */
	uint32_t nccl;			/* version of NCCL as 22809; 0: not known */
	uint64_t mono_ns, real_ns;	/* CLOCK_MONOTONIC and CLOCK_REALTIME, read together */
	char name[RING_NAME_SIZE];	/* what the job calls it, "" for nothing */
	/* Of api 3 comm_id, rank (-1 until then) and name come with the first operation only, and
	   n_ranks, n_nodes (0) never. */
	_Atomic uint64_t next;			       /* operations that were begun */
	_Atomic uint64_t bad_stamps, late_calls, lost; /* left out; for events long gone; no room */
	_Atomic uint64_t beat_ns; /* CLOCK_MONOTONIC: the last begin, first start, last stop, wait */
	_Atomic uint32_t mask;	  /* of events that are asked for now */
	_Atomic uint32_t finalized; /* 1: the communicator was given up in order */
	/* What an assayd wants that was not there when the ring was handed over, and so cannot write
	   its page: it is said here, and once until_ns is not 0 the page counts no more. These words
	   alone are assayd's, and the job could change them: what it then loses is its own record. */
	struct ring_control wants;
	_Atomic uint64_t since_ns; /* CLOCK_MONOTONIC since which kernels are asked for without a
				      break; 0: they are not, or the plug-in does not tell */
	_Atomic uint64_t offers,
		offer_longest_ns; /* times that it was handed over again, or tried; what one took */
};

struct ring_slot {
	_Atomic uint64_t stamp;
	uint64_t seq; /* NCCL's number: of the communicator and function; 0 for send, receive. Of a
			 captured graph (RING_GRAPH) each play has the number of the first */
	uint64_t count; /* elements */
	uint64_t enqueued_ns;
	_Atomic uint64_t gpu_start_ns,
		gpu_stop_ns; /* least start, largest stop of its channels; 0 */
	_Atomic uint64_t host_start_ns, host_stop_ns; /* when the first and last were heard of */
	_Atomic uint64_t wait_ns;		      /* since when `wait` */
	int32_t peer;				      /* of send, receive; root; -1 */
	_Atomic uint16_t channels;		      /* as NCCL says: an upper bound for P2P */
	_Atomic uint16_t started, stopped;	      /* channels */
	_Atomic uint8_t wait;			      /* enum ring_wait */
	_Atomic uint8_t func;			      /* enum ring_func */
	_Atomic uint8_t flags;			      /* enum ring_flag */
	uint8_t algo, proto;  /* first letter of NCCL's names: 'R'ing, 'T'ree ...; 0 */
	uint8_t element_size; /* bytes; 0: not known */
	char func_name[20];   /* as NCCL says, cut */
};

_Static_assert(sizeof(struct ring_head) <= RING_HEAD_SIZE, "the head outgrew its page");
_Static_assert(sizeof(struct ring_slot) <= RING_SLOT_SIZE, "a slot outgrew its place");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_CHAR_LOCK_FREE == 2, "atomics need locks");

/*
 * The socket, SOCK_SEQPACKET: the plug-in sends one ring_hello for each communicator with the
 * descriptor of its ring (SCM_RIGHTS); assayd answers with one ring_welcome and the descriptor of a
 * page that it alone writes, ring_control, which is sealed too. Both sides check seals and size
 * before they map (there may be more seals than these). Who speaks is who SO_PEERCRED says, and
 * nothing of what he says of himself. The plug-in closes the connection when it has its answer,
 * which it waits for 100 ms in all: that a job ended is seen by its process, never by the socket.
 *
 * When nobody has written the page on for as long as it said that it holds, assayd has gone, or has
 * been started anew. Then a call of NCCL hands the ring over once more, `again`, and neither waits
 * for an answer nor takes one: who takes the ring says what it wants in the ring's head.
 */
#define RING_SOCKET_NAME "jobs/ring.sock" /* in $RUN */

struct ring_hello {
	uint64_t magic;
	uint32_t version;
	uint32_t again; /* 1: it was taken once, and no page is to come with the answer */
};

struct ring_welcome {
	uint64_t magic;
	uint32_t version;
	uint32_t taken; /* 1; 0: one too many, or of nobody: nothing is read, and the mask is 0 */
};

enum { RING_CONTROL_SIZE = 4096 };
