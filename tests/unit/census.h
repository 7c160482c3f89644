/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A census as rows of tests write it, and who is who in it as one line of text:
 *
 *	H4711 D4790/4711/pyspark:1 W4801/4790@4711 h4805/4801@4711
 *
 * is a host, its daemon with its class and one worker, the worker below that daemon and of that host, and
 * a helper of that worker. `S` is a single. A host that --host names has a `*`; `l` is a lost helper, `o` an orphan, `-` nobody.
 */
#ifndef REAPER_TESTS_CENSUS_H
#define REAPER_TESTS_CENSUS_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "build.h"
#include "correlate/tree.h"

enum {
	CENSUS_MAX = 14,
	CENSUS_TEXT = 512,
	CENSUS_NAMED_MAX = 3,
	CENSUS_MEMORY_MAX = 3,
	CENSUS_DAEMONS_MAX = 3,
	CENSUS_START = 100000, /* of a process: this and its number */
};

enum kind {
	EXECED,
	FORKED, /* and never exec'ed */
	KERNEL,
	ZOMBIE,
	ZOMBIE_LEADER, /* of threads that live */
	DEAD,
};

struct person {
	pid_t pid; /* 0: no more */
	pid_t ppid;
	pid_t pgrp;
	enum kind kind;
	const char *comm;
	const char *argv; /* words; NULL: not read */
};

#define DAEMON_ARGV "python -m pyspark.daemon"
/* init, a JVM, its daemon */
#define INIT                                  \
	{                                     \
		1, 0, 1, EXECED, "init", NULL \
	}
#define JVM                                         \
	{                                           \
		4711, 1, 4711, EXECED, "java", NULL \
	}
#define DAEMON                                                   \
	{                                                        \
		4790, 4711, 4790, EXECED, "python3", DAEMON_ARGV \
	}
/* of that daemon; its argv is its daemon's, and is not read while that lives */
#define WORKER(pid)                                      \
	{                                                \
		pid, 4790, 4790, FORKED, "python3", NULL \
	}
/* whose daemon, number 4790, has died */
#define ORPHAN(pid)                                          \
	{                                                    \
		pid, 1, 4790, FORKED, "python3", DAEMON_ARGV \
	}

static inline struct ident census_ident(pid_t pid)
{
	return (struct ident){ pid, CENSUS_START + (uint64_t)pid };
}

static inline void census_argv(struct proc *p, const char *words)
{
	p->argv_len = strlen(words) + 1;
	p->argv = malloc(p->argv_len);
	cr_assert_not_null(p->argv);
	memcpy(p->argv, words, p->argv_len);
	for (char *blank = p->argv; (blank = strchr(blank, ' '));)
		*blank++ = '\0';
}

static inline void census_add(struct audit *a, const struct person *who)
{
	struct proc *p = snapshot_add(&a->snapshot);

	cr_assert_not_null(p);
	p->id = census_ident(who->pid);
	p->ppid = who->ppid;
	p->pgrp = who->pgrp;
	p->uid = 1000;
	p->threads = who->kind == ZOMBIE_LEADER ? 3 : 1;
	p->rss_bytes = 1000;
	p->state = 'S';
	if (who->kind == ZOMBIE || who->kind == ZOMBIE_LEADER)
		p->state = 'Z';
	if (who->kind == DEAD)
		p->state = 'X';
	if (who->kind == KERNEL)
		p->flags = PROC_KTHREAD;
	if (who->kind != EXECED && who->kind != KERNEL)
		p->flags = PROC_FORKNOEXEC;
	snprintf(p->comm, sizeof(p->comm), "%s", who->comm);
	if (who->argv)
		census_argv(p, who->argv);
}

/** Makes an audit of a census; audit_done() frees it. */
static inline struct audit census(const struct person people[CENSUS_MAX])
{
	struct audit a = build_audit();

	for (size_t i = 0; i < CENSUS_MAX && people[i].pid; i++)
		census_add(&a, &people[i]);
	snapshot_sort(&a.snapshot);
	return a;
}

static inline void census_put(char text[CENSUS_TEXT], const char *format, pid_t pid, pid_t of)
{
	size_t len = strlen(text);

	snprintf(text + len, CENSUS_TEXT - len, format, pid, of);
}

/** Writes who is who. */
static inline void census_text(const struct audit *a, char text[CENSUS_TEXT])
{
	static const char *const subjects[ROLE_COUNT] = {
		[ROLE_WORKER] = " W%d/%d",
		[ROLE_SINGLE] = " S%d/%d",
		[ROLE_HELPER] = " h%d/%d",
		[ROLE_LOST_HELPER] = " l%d/%d",
	};

	text[0] = '\0';
	for (size_t i = 0; i < a->host_count; i++)
		census_put(text, a->hosts[i].named ? " H%d*" : " H%d", a->hosts[i].id.pid, 0);
	for (size_t i = 0; i < a->daemon_count; i++) {
		const struct daemon *d = &a->daemons[i];
		size_t len;

		census_put(text, " D%d/%d", d->id.pid, d->host < 0 ? 0 : a->hosts[d->host].id.pid);
		len = strlen(text);
		snprintf(text + len, CENSUS_TEXT - len, "/%s:%u",
			 a->classes.class[d->class_index].name, d->workers);
	}
	for (size_t i = 0; i < a->subject_count; i++) {
		const struct subject *s = &a->subjects[i];
		pid_t of = s->daemon < 0 ? 0 : a->daemons[s->daemon].id.pid;

		if (s->worker >= 0)
			of = a->subjects[s->worker].id.pid;
		census_put(text, subjects[s->role], s->id.pid, of);
		if (s->orphan)
			census_put(text, "o", 0, 0);
		if (s->host >= 0)
			census_put(text, "@%d", a->hosts[s->host].id.pid, 0);
	}
	memmove(text, text + (text[0] == ' '), strlen(text) + 1 - (text[0] == ' '));
}

#endif
