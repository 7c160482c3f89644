/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes, array sizes and owners on the stack. The one header of base/ that every floor may
 * include: it needs nothing but the compiler.
 */
#ifndef REAPER_BASE_MACRO_H
#define REAPER_BASE_MACRO_H

#include <stddef.h>
#include <stdlib.h>

#define _cleanup_(f)   __attribute__((cleanup(f)))
#define _must_check_   __attribute__((warn_unused_result))
#define _printf_(f, a) __attribute__((format(printf, f, a)))
#define _unused_       __attribute__((unused))
#define _pure_         __attribute__((pure))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define MIN(a, b)                                  \
	({                                         \
		__auto_type min_a_ = (a);          \
		__auto_type min_b_ = (b);          \
		min_a_ < min_b_ ? min_a_ : min_b_; \
	})
#define MAX(a, b)                                  \
	({                                         \
		__auto_type max_a_ = (a);          \
		__auto_type max_b_ = (b);          \
		max_a_ > max_b_ ? max_a_ : max_b_; \
	})

/* Gives a pointer (or a descriptor) away: the owner keeps the null value. */
#define TAKE_PTR(p)                          \
	({                                   \
		__auto_type take_ptr_ = (p); \
		(p) = NULL;                  \
		take_ptr_;                   \
	})
#define TAKE_FD(fd)                  \
	({                           \
		int take_fd_ = (fd); \
		(fd) = -1;           \
		take_fd_;            \
	})

/* Defines the function that _cleanup_() calls for a pointer of this type. */
#define DEFINE_CLEANUP(type, func)                 \
	static inline void func##_cleanup(type *p) \
	{                                          \
		if (*p)                            \
			func(*p);                  \
	}

/** Frees the pointer that p points to. For _cleanup_free_. */
static inline void free_cleanup(void *p)
{
	free(*(void **)p);
}
#define _cleanup_free_ _cleanup_(free_cleanup)

#endif
