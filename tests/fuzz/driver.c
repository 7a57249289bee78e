/*
 * Replaces libFuzzer: replays the corpus, then runs mutations of it. Iteration i depends on the
 * seed and on i alone, so that a crash can be reproduced: fuzz_x [-runs=N] [-seed=N] [-seconds=N]
 * [-only=I] FILE|FOLDER... Seconds are of processor time. With ASSAY_TEST_FUZZ_SECONDS=N in the
 * environment it runs that long, whatever the arguments.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"
#include "harness/core/file.h"
#include "harness/core/random.h"

#define INPUTS_MAX 1000
#define INPUT_SIZE_MAX 65536

static struct input {
    char *name;
    char *bytes;
    size_t length;
} inputs[INPUTS_MAX];
static size_t input_count;

static int64_t runs = 10000, seconds = 60, only = -1;
static uint64_t seed = 1;
static char doing[512] = "nothing yet";

/* Prints the current iteration; uses only calls that a signal handler may make. */
static void on_crash(int number)
{
    static const char start[] = "\nfuzz driver: crashed in ";

    if (write(STDERR_FILENO, start, sizeof(start) - 1) < 0 ||
        write(STDERR_FILENO, doing, strlen(doing)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
        _exit(98);
    signal(number, SIG_DFL);
    raise(number);
}

static void add_file(const char *path)
{
    struct input *input = &inputs[input_count];
    struct error err = ERROR_INIT;

    if (input_count == INPUTS_MAX)
        return;
    if (file_read(path, INPUT_SIZE_MAX, &input->bytes, &input->length, &err) != STATUS_OK) {
        fprintf(stderr, "%s\n", err.message);
        exit(2);
    }
    input->name = text_format("%s", path);
    ++input_count;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct input *)a)->name, ((const struct input *)b)->name);
}

static void add_path(const char *path)
{
    struct stat st;
    struct dirent *entry;
    DIR *folder;

    if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
        add_file(path);
        return;
    }
    folder = opendir(path);
    while (folder && (entry = readdir(folder))) {
        char *file = text_format("%s/%s", path, entry->d_name);

        if (file && !stat(file, &st) && S_ISREG(st.st_mode))
            add_file(file);
        free(file);
    }
    if (folder)
        closedir(folder);
}

/* The bytes being mutated. */
struct work {
    uint8_t bytes[INPUT_SIZE_MAX];
    size_t length;
};

static void insert(struct work *work, size_t at, const void *bytes, size_t length)
{
    if (length > INPUT_SIZE_MAX - work->length)
        return;
    memmove(work->bytes + at + length, work->bytes + at, work->length - at);
    memcpy(work->bytes + at, bytes, length);
    work->length += length;
}

static void mutate(struct work *work, struct random *random)
{
    static const char *const tokens[] = {
        ": ",
        "- ",
        "\n",
        "\n  ",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "'",
        "#",
        "&a ",
        "*a",
        "!!t ",
        "|\n ",
        "---\n",
        "null",
        "true",
        "-1",
        "0",
        "1e9",
        "\t",
        "\\u",
        "\\0",
        "\xff",
        "\xc3\xa4",
        "\xf0\x9f\x98\x80",
        "9223372036854775808",
        "10s",
        "1GiB",
        ",",
        "\r\n",
        "\xef\xbb\xbf",
        "? ",
        "<<: ",
        "18446744073709551615",
    };
    size_t at = (size_t)random_next_below(random, work->length + 1);
    size_t left = work->length - at;
    size_t count = (size_t)random_next_below(random, left < 32 ? left + 1 : 32);
    const struct input *other = &inputs[random_next_below(random, input_count)];
    const char *token = tokens[random_next_below(random, sizeof(tokens) / sizeof(*tokens))];
    uint8_t copy[32];

    switch (random_next_below(random, 8)) {
    case 0:
        if (left > 0)
            work->bytes[at] ^= (uint8_t)(1u << random_next_below(random, 8));
        break;
    case 1:
        if (left > 0)
            work->bytes[at] = (uint8_t)random_next(random);
        break;
    case 2:
        memmove(work->bytes + at, work->bytes + at + count, left - count);
        work->length -= count;
        break;
    case 3: /* a stretch of this input again */
        memcpy(copy, work->bytes + at, count);
        insert(work, (size_t)random_next_below(random, work->length + 1), copy, count);
        break;
    case 4: /* from here on another input */
        if (other->length > 0) {
            size_t from = (size_t)random_next_below(random, other->length);

            work->length = at;
            insert(work, at, other->bytes + from, other->length - from);
        }
        break;
    case 5:
        work->length = at;
        break;
    default:
        insert(work, at, token, strlen(token));
    }
}

static void run_iteration(int64_t i)
{
    static struct work work;
    struct random random;
    const struct input *start;
    uint64_t mutations;
    uint8_t *exact;

    random_init(&random, seed, (uint64_t)i);
    start = &inputs[random_next_below(&random, input_count)];
    memcpy(work.bytes, start->bytes, start->length);
    work.length = start->length;
    mutations = 1 + random_next_below(&random, 8);
    while (mutations-- > 0)
        mutate(&work, &random);
    snprintf(doing, sizeof(doing), "iteration %lld; again by -seed=%llu -only=%lld", (long long)i,
             (unsigned long long)seed, (long long)i);
    exact = malloc(work.length ? work.length : 1); /* so that reading past the end is seen */
    if (!exact)
        return;
    memcpy(exact, work.bytes, work.length);
    LLVMFuzzerTestOneInput(exact, work.length);
    free(exact);
}

static void read_arguments(int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        const char *value = strchr(argv[i], '=');

        if (argv[i][0] != '-')
            add_path(argv[i]);
        else if (!strncmp(argv[i], "-runs=", 6) && text_parse_i64(value + 1, &runs))
            continue;
        else if (!strncmp(argv[i], "-seconds=", 9) && text_parse_i64(value + 1, &seconds))
            continue;
        else if (!strncmp(argv[i], "-only=", 6) && text_parse_i64(value + 1, &only))
            continue;
        else if (!strncmp(argv[i], "-seed=", 6) && text_parse_u64(value + 1, &seed))
            continue;
        else {
            fprintf(stderr, "unknown argument %s\n", argv[i]);
            exit(2);
        }
    }
}

/* Of this process: a busy machine must not reduce the number of mutations. */
static int64_t processor_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int main(int argc, char **argv)
{
    const char *asked = getenv("ASSAY_TEST_FUZZ_SECONDS");
    int64_t end_ns, i = 0;

    read_arguments(argc, argv);
    if (asked != NULL) {
        if (!text_parse_i64(asked, &seconds)) {
            fprintf(stderr, "ASSAY_TEST_FUZZ_SECONDS=%s is no number\n", asked);
            return 2;
        }
        runs = INT64_MAX;
    }
    if (input_count == 0) {
        fprintf(stderr, "no corpus: name files or folders\n");
        return 2;
    }
    qsort(inputs, input_count, sizeof(*inputs), compare_names);
    signal(SIGABRT, on_crash);
    signal(SIGSEGV, on_crash);
    signal(SIGBUS, on_crash);
    signal(SIGFPE, on_crash);
    signal(SIGILL, on_crash);
    end_ns = processor_ns() + seconds * 1000000000;
    if (only >= 0) {
        run_iteration(only);
        return 0;
    }
    for (size_t n = 0; n < input_count; ++n) {
        snprintf(doing, sizeof(doing), "%s", inputs[n].name);
        LLVMFuzzerTestOneInput((const uint8_t *)inputs[n].bytes, inputs[n].length);
    }
    for (; i < runs && processor_ns() < end_ns; ++i)
        run_iteration(i);
    printf("%zu inputs, %lld mutations\n", input_count, (long long)i);
    for (size_t n = 0; n < input_count; ++n) {
        free(inputs[n].name);
        free(inputs[n].bytes);
    }
    return 0;
}
