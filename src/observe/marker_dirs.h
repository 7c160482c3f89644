/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files of marker_dir and its direct subdirectories may be marker logs: names and owners only,
 * nothing is opened but directories. Bounded whatever others put there, and those who put little come
 * before those who put much. Each owner has a share: who puts more than that holds up nobody else.
 */
#ifndef REAPER_OBSERVE_MARKER_DIRS_H
#define REAPER_OBSERVE_MARKER_DIRS_H

#include <sys/stat.h>

#include "base/buf.h"
#include "base/macro.h"
#include "observe/markers.h"

enum {
	/* Entries of marker_dir that one look reads, and entries of all its subdirectories. */
	MARKER_DIRS_ENTRIES_MAX = 262144,
	/* One owner's: its directories and logs in marker_dir, and all that lies in its directories.
	 * As many logs as are ever read, each in a directory of its own, are half of it. */
	MARKER_DIRS_OWNER_MAX = 4 * MARKER_LOGS_MAX,
	/* Owners that have a share; what others put there is left out. */
	MARKER_DIRS_OWNERS_MAX = MARKER_LOGS_MAX,
};

/* marker_dir, or a direct subdirectory. */
struct marker_place {
	size_t name; /* in the names; "" for marker_dir itself */
	uid_t owner;
};

/* A name that ends in ".log". */
struct marker_candidate {
	size_t name; /* in the names */
	size_t place;
	uid_t owner;    /* of the subdirectory, or of the file in marker_dir */
	uint32_t peers; /* candidates of the same owner */
};

/* What was listed of one owner. */
struct marker_share {
	uid_t owner;
	uint32_t entries;
	bool missed; /* something was left out: what is not found may be there */
};

struct marker_dirs {
	int fd; /* owned; marker_dir, -1: there is none */
	struct stat st;
	struct buf names;            /* each NUL-ended */
	struct marker_place *places; /* owned; the first is marker_dir, the others sorted by name */
	size_t place_count, place_room;
	struct marker_share *shares; /* owned; sorted by owner */
	size_t share_count, share_room;
	bool missed;                    /* something was left out, and no share says whose */
	size_t below;                   /* entries of subdirectories that were read */
	struct marker_candidate *found; /* owned; in the order in which they are to be read */
	size_t found_count, found_room;
};

/**
 * Lists the candidates.
 *
 * @param dirs		empty; marker_dirs_done() frees it, also after an error.
 * @param counts	gets what is not to be believed, and what was left out.
 * @return 0 (also without a directory); -ENOMEM; -EACCES, -EMFILE ...: marker_dir cannot be read.
 */
int marker_dirs_list(const char *dir, struct marker_dirs *dirs, struct markers_counts *counts)
	_must_check_;

/** @return the name of a place or of a candidate, owned by the list. */
const char *marker_dirs_name(const struct marker_dirs *dirs, size_t name);

/**
 * Opens a subdirectory without following a link, or entering what is mounted there.
 *
 * @return the descriptor, owned by the caller; negative errno (-EXDEV: a mount).
 */
int marker_dirs_open(int dirfd, const char *name, struct stat *ret_st) _must_check_;

/** Frees what it holds, closes marker_dir. */
void marker_dirs_done(struct marker_dirs *dirs);

/**
 * Tells whether an error of opening says that there is nothing to believe here, rather than that this
 * moment was a bad one.
 */
bool marker_dirs_is_refusal(int error);

/** Counts a file or directory that is not believed, and describes the first. */
void marker_dirs_distrust(struct markers_counts *counts, const char *place, const char *name,
			  const char *why);

/** Remembers that a log of this owner was not read to its end. */
void marker_dirs_behind(struct markers_counts *counts, uid_t owner);

/** Remembers that something of this owner's was left out, so that it is neither read nor gone. */
void marker_dirs_miss(struct marker_dirs *dirs, uid_t owner, struct markers_counts *counts);

/** Tells whether a log of this owner may be there though it was not found. */
bool marker_dirs_may_hide(const struct marker_dirs *dirs, uid_t owner);

#endif
