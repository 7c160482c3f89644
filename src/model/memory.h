/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the memory of one process went over time, what it will run into, and whom the kernel would
 * then kill. Times are the boot clock's.
 */
#ifndef REAPER_MODEL_MEMORY_H
#define REAPER_MODEL_MEMORY_H

#include "model/ident.h"
#include "model/proc.h"
#include "model/tri.h"

enum {
	MEMORY_SAMPLES_MAX = 64, /* of one process; the older they are, the wider apart */
	MEMORY_SERIES_MAX = 256, /* processes that are followed; the others are not */
	MEMORY_CGROUP_MAX = 512, /* bytes of a cgroup's path, with its NUL */
};

/* More than any process can have: what is above it is unknown. */
#define MEMORY_BYTES_MAX (UINT64_C(1) << 60)

/* Later than any boot clock: a thousand years. Any sum or small multiple of times up to it is a number, too. */
#define MEMORY_MS_MAX (UINT64_C(1000) * 366 * 24 * 3600 * 1000)

struct memory_sample {
	uint64_t ms;
	uint64_t vm_bytes;   /* VmSize: what it has mapped */
	uint64_t anon_bytes; /* RssAnon: what it holds for itself */
	/* RssAnon since the sample before, with those that were left out between them. */
	uint64_t least_bytes;
	uint64_t most_bytes;
};

/* What was seen of one process; each sample is later than the one before. */
struct memory_series {
	struct ident id;
	uint64_t touched_ms; /* last look that saw it */
	size_t count;
	struct memory_sample sample[MEMORY_SAMPLES_MAX];
};

struct memory_trend {
	enum tri growing;   /* TRI_UNKNOWN: too few samples, or over too short a time */
	uint64_t window_ms; /* the time that the slopes are of; 0: they are not known */
	int64_t vm_per_s;   /* bytes */
	int64_t anon_per_s;
};

enum memory_limit_of {
	MEMORY_LIMIT_UNKNOWN,
	MEMORY_LIMIT_CGROUP,
	MEMORY_LIMIT_MACHINE,
	MEMORY_LIMIT_COUNT,
};

/* The limit that is the nearest: of its cgroup or one above that, or of the machine. */
struct memory_limit {
	enum memory_limit_of of;
	uint64_t limit_bytes;
	uint64_t room_bytes;            /* until it is reached */
	char cgroup[MEMORY_CGROUP_MAX]; /* the one that has the limit; "": the machine */
};

/* One that the kernel may choose when memory runs out. */
struct oom_candidate {
	struct ident id;
	char comm[PROC_COMM_MAX];
	uint32_t oom_score;
	uint64_t rss_bytes;
	char cgroup[MEMORY_CGROUP_MAX]; /* where its memory is counted; "": unknown */
};

/* All that is known of one process' memory. */
struct memory {
	struct memory_series series;
	struct memory_trend trend;
	struct memory_limit limit;
	uint64_t until_limit_ms; /* at its slope, if it grows; UNKNOWN_U64 */
	struct oom_candidate
		victim; /* whom the kernel would kill then; pid 0: not asked, or nobody */
};

/** Copies it into new memory. @return it, owned by the caller (free()); NULL: no memory. */
struct memory *memory_copy(const struct memory *m);

/** @return "cgroup" or "machine"; NULL for MEMORY_LIMIT_UNKNOWN. */
const char *memory_limit_name(enum memory_limit_of of);

#endif
