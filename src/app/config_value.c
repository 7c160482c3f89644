/* SPDX-License-Identifier: Apache-2.0 */
#include "app/config_value.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

enum {
	PPM_PER_PERCENT = 10000,
	PASSWD_BYTES = 16 * 1024, /* getpwnam_r(3): one entry with all its strings */
};

/* In the order of the manual, which is that of the shipped default. */
static const enum fence nameable[] = {
	FENCE_SIGNED_OFF, FENCE_PEER_CLOSED, FENCE_HOST_GONE, FENCE_RETIRED, FENCE_TASK_ENDED,
};
/* All but FENCE_NONE and FENCE_ASSUMED, which assume_leaked_after alone turns on. */
static_assert(ARRAY_SIZE(nameable) == FENCE_COUNT - 2, "every fence that a user may name");

int config_parse_path(const char *text, char *ret)
{
	size_t len = strlen(text);

	/* What check-config could not show whole is refused. */
	if ((len && text[0] != '/') || len >= MIN((size_t)PATH_MAX, (size_t)SETTING_VALUE_MAX))
		return -EINVAL;
	memcpy(ret, text, len + 1);
	return 0;
}

/* Cuts the next word off *at, which moves behind it. Returns its length; 0: there is none. */
static size_t next_word(const char **at, const char **ret_word)
{
	size_t len;

	*at += strspn(*at, " \t");
	len = strcspn(*at, " \t");
	*ret_word = *at;
	*at += len;
	return len;
}

int config_parse_fences(const char *text, uint32_t *ret)
{
	uint32_t fences = 0;
	const char *word;
	char name[32];
	size_t len;

	while ((len = next_word(&text, &word))) {
		enum fence fence;

		if (len >= sizeof(name))
			return -EINVAL;
		memcpy(name, word, len);
		name[len] = '\0';
		fence = fence_from_name(name);
		if (fence == FENCE_NONE || fences & UINT32_C(1) << fence)
			return -EINVAL;
		fences |= UINT32_C(1) << fence;
	}
	*ret = fences;
	return 0;
}

/* One alternative: the text up to end. */
static int parse_words(const char *text, const char *end, size_t words_max, size_t word_max,
		       struct words *ret)
{
	const char *word;
	size_t len;

	while (text < end && (len = next_word(&text, &word))) {
		if (word >= end)
			break;
		len = MIN(len, (size_t)(end - word));
		if (ret->count == words_max || len > word_max)
			return -EINVAL;
		memcpy(ret->word[ret->count], word, len);
		ret->word[ret->count++][len] = '\0';
		text = word + len;
	}
	return ret->count ? 0 : -EINVAL;
}

int config_parse_choices(const char *text, size_t words_max, size_t word_max, struct choices *ret)
{
	struct choices choices = { 0 };

	while (*text) {
		const char *end = strchrnul(text, '|');

		if (choices.count == CLASS_CHOICES_MAX)
			return -EINVAL;
		if (parse_words(text, end, words_max, word_max, &choices.choice[choices.count]))
			return -EINVAL;
		choices.count++;
		if (*end && !end[1]) /* a '|' with nothing behind it */
			return -EINVAL;
		text = *end ? end + 1 : end;
	}
	*ret = choices;
	return 0;
}

static int user_of(const char *text, uid_t *ret)
{
	struct passwd entry, *found = NULL;
	char bytes[PASSWD_BYTES];
	uint64_t uid;

	/* The last number means "nobody said" to the kernel (chown(2)). */
	if (!parse_u64(text, UINT32_MAX - 1, &uid)) {
		*ret = (uid_t)uid;
		return 0;
	}
	if (getpwnam_r(text, &entry, bytes, sizeof(bytes), &found) || !found)
		return -EINVAL;
	*ret = found->pw_uid;
	return 0;
}

int config_parse_protect(const char *text, enum protect_kind kind, struct protect_rule *ret)
{
	struct protect_rule rule = { .kind = kind };
	size_t len = strlen(text);

	if (!len || len >= sizeof(rule.value))
		return -EINVAL;
	if (kind == PROTECT_COMM && len > CONFIG_COMM_MAX) /* it would never match */
		return -EINVAL;
	if (kind == PROTECT_CGROUP && text[0] != '/')
		return -EINVAL;
	if (kind == PROTECT_USER && user_of(text, &rule.uid))
		return -EINVAL;
	memcpy(rule.value, text, len + 1);
	*ret = rule;
	return 0;
}

void config_format_percent(uint32_t ppm, char ret[SETTING_VALUE_MAX])
{
	uint32_t rest = ppm % PPM_PER_PERCENT;
	int decimals = 4;

	while (rest && rest % 10 == 0) {
		rest /= 10;
		decimals--;
	}
	if (rest)
		(void)snprintf(ret, SETTING_VALUE_MAX, "%u.%0*u%%", ppm / PPM_PER_PERCENT, decimals,
			       rest);
	else
		(void)snprintf(ret, SETTING_VALUE_MAX, "%u%%", ppm / PPM_PER_PERCENT);
}

/* Appends text to a value; what does not fit is cut. */
static void append(char ret[SETTING_VALUE_MAX], const char *separator, const char *text)
{
	size_t len = strlen(ret);

	(void)snprintf(ret + len, SETTING_VALUE_MAX - len, "%s%s", len ? separator : "", text);
}

void config_format_fences(uint32_t fences, char ret[SETTING_VALUE_MAX])
{
	ret[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(nameable); i++)
		if (fences & UINT32_C(1) << nameable[i])
			append(ret, " ", fence_name(nameable[i]));
}

void config_format_choices(const struct choices *choices, char ret[SETTING_VALUE_MAX])
{
	ret[0] = '\0';
	for (size_t i = 0; i < choices->count; i++)
		for (size_t j = 0; j < choices->choice[i].count; j++)
			append(ret, j ? " " : " | ", choices->choice[i].word[j]);
}
