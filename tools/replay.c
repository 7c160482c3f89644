/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain main() for a fuzzer: runs it once on the bytes of every file named, and on nothing at
 * all. What libFuzzer once found stays in the corpus, and so in every `make check`.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	INPUT_MAX = 1 << 20, /* bytes of one corpus file */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Gives the fuzzer memory of exactly the right size, so that a sanitizer sees the byte beyond. */
static int run(const uint8_t *data, size_t size)
{
	uint8_t *copy = calloc(1, size ? size : 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	(void)LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	return 0;
}

static int replay(const char *path)
{
	static uint8_t data[INPUT_MAX];
	FILE *file = fopen(path, "rbe");
	size_t size;
	int failed;

	if (!file)
		return -errno;
	size = fread(data, 1, sizeof(data), file);
	failed = ferror(file) ? -EIO : !feof(file) ? -EFBIG : 0;
	(void)fclose(file);
	return failed ? failed : run(data, size);
}

int main(int argc, char *argv[])
{
	int err = run((const uint8_t *)"", 0);

	for (int i = 1; i < argc && !err; i++) {
		err = replay(argv[i]);
		if (err)
			(void)fprintf(stderr, "%s: %s\n", argv[i], strerror(-err));
	}
	return err ? 1 : 0;
}
