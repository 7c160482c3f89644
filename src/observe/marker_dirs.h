/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files of marker_dir and its direct subdirectories may be marker logs: names and owners only,
 * nothing is opened but directories. Bounded whatever others put there, and those who put little come
 * before those who put much.
 */
#ifndef REAPER_OBSERVE_MARKER_DIRS_H
#define REAPER_OBSERVE_MARKER_DIRS_H

#include <sys/stat.h>

#include "base/buf.h"
#include "base/macro.h"
#include "observe/markers.h"

enum {
	MARKER_DIRS_ENTRIES_MAX = 16384, /* entries of marker_dir that are looked at */
	MARKER_DIRS_FOUND_MAX =
		65536,             /* candidates that are remembered, shared by all directories */
	MARKER_DIRS_SHARE_MIN = 4, /* of these for each directory, however many there are */
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

struct marker_dirs {
	int fd; /* owned; marker_dir, -1: there is none */
	struct stat st;
	struct buf names;            /* each NUL-ended */
	struct marker_place *places; /* owned; the first is marker_dir, the others sorted by name */
	size_t place_count, place_room;
	bool partial; /* a directory could not be listed at this moment: who is missing may be there */
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
 * Opens a subdirectory without following a link.
 *
 * @return the descriptor, owned by the caller; negative errno.
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

#endif
