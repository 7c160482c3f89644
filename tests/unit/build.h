/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Literal builders: policy, facts and whole audits that a test then changes where its row differs.
 * Everything is fixed (times, boot id), so what is printed of it can be compared byte by byte.
 */
#ifndef REAPER_TESTS_BUILD_H
#define REAPER_TESTS_BUILD_H

#include "model/audit.h"
#include "model/policy.h"

enum {
	BUILD_SECOND = 1000,
	BUILD_TAKEN_MS = 9000000, /* boot clock of its looks */
	BUILD_MINUTE = 60 * BUILD_SECOND,
	BUILD_HOUR = 60 * BUILD_MINUTE,
};

#define BUILD_WALL_MS 1763640720000u
#define BUILD_BOOT_ID "01234567-89ab-cdef-0123-456789abcdef"
#define BUILD_KIB     UINT64_C(1024)
#define BUILD_MIB     (1024 * BUILD_KIB)

/** @return the policy as shipped. */
struct policy build_policy(void);

/**
 * Gives the facts of a worker that is an hour old and has been asleep for 20 s in a read on its
 * established TCP task socket: nothing objects, nothing is known against it, there are no markers.
 */
struct facts build_facts(struct ident id);

/** Gives evidence that was seen of such a worker: nothing is odd, descriptor 4 is its task socket. */
struct evidence build_evidence(struct ident id);

/** @return an audit without hosts, with the two shipped classes; audit_done() frees it. */
struct audit build_audit(void);

/** Adds a JVM that has run for 3h12m. @return it, valid until the next host. */
struct host *build_host(struct audit *a, pid_t pid);

/** Adds a daemon of class 0. @param host its host's index, or -1. @return it, valid until the next. */
struct daemon *build_daemon(struct audit *a, int host, pid_t pid);

/**
 * Adds a worker with build_facts() and build_evidence(), kept because it is idle.
 *
 * @param daemon	its daemon's index, or -1: an orphan without a host.
 * @return it, valid until the next subject.
 */
struct subject *build_worker(struct audit *a, int daemon, pid_t pid);

/** Adds a class of singles, "nightly". @return its index. */
int build_lone_class(struct audit *a);

/**
 * Adds a single of that class, stuck in poll without a timeout for 20 minutes, without a marker log.
 *
 * @return it, valid until the next subject.
 */
struct subject *build_single(struct audit *a, int class_index, pid_t pid);

/**
 * Makes a single one that has grown by 512 KiB a second for 6.5 minutes, towards the 600 MiB of its cgroup,
 * where the kernel would kill process 5000.
 */
void build_growing(const struct audit *a, struct subject *s);

/** Adds a helper of the last worker or single. @return it, valid until the next subject. */
struct subject *build_helper(struct audit *a, pid_t pid);

/** Adds a lost helper. @param daemon index, or -1. @return it, valid until the next subject. */
struct subject *build_lost_helper(struct audit *a, int daemon, pid_t pid);

/** Gives a subject a verdict with a proof of that age. */
void build_reap(struct subject *s, enum fence fence, uint64_t fence_age_ms);

/** Makes a subject a silent suspect. */
void build_suspect(struct subject *s, enum missing missing, uint64_t silent_ms);

/** Makes a worker one that serves task 17 of job 3 for 4 minutes, at 98 % of a core. */
void build_serving(const struct audit *a, struct subject *s);

/**
 * Gives one host with a worker of every kind that people meet: 4801 serves, 4802 is pooled, 4803 is due
 * and has the helpers 4810 (which holds the task socket) and 4811, 4804 and 4806 are suspects, 4820 is a
 * lost helper.
 */
struct audit build_population(void);

#endif
