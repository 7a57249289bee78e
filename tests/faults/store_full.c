/*
 * A real full disk: a small file system in a mount namespace of its own. Needs the privilege
 * to mount; without it the test is skipped (store_io.c covers the same by a shim).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/faults/store_scenario.h"
#include "tests/support/store_fixture.h"

#define SKIPPED 77

static bool mount_small(const char *folder)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("assay", folder, "tmpfs", 0, "size=2500k") == 0;
}

/* Occupies space that is freed later. */
static void put_ballast(const char *path)
{
    char bytes[256 * 1024];
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    memset(bytes, 'x', sizeof(bytes));
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
    close(fd);
}

static void test_full_disk(void **state)
{
    struct fixture *fixture = *state;
    struct scenario_progress progress = {0};
    struct error err = ERROR_INIT;
    char ballast[544];
    const char *wrong;
    unsigned number = 0;
    enum status status;

    snprintf(ballast, sizeof(ballast), "%s/ballast", fixture->folder);
    put_ballast(ballast);
    do {
        status = scenario_run(fixture->path, ++number, &progress, &err);
    } while (status == STATUS_OK && number < 1000);
    assert_status(status, STATUS_NO_SPACE, err);
    assert_non_null(strstr(err.message, "free some space"));
    assert_non_null(strstr(err.message, "free some space"));
    /* A store without a campaign has nothing to resume; a caller with one says how. */
    assert_null(strstr(err.message, "--resume"));
    print_message("full after %ld samples: %s\n", progress.samples, err.message);
    assert_true(progress.samples > 0);
    /* Nothing is lost, even while the disk is still full ... */
    assert_ok(store_open(fixture->path, STORE_READ, 1000000000, &fixture->store, &err), err);
    assert_int_equal(
        fixture_ask(fixture->store, "SELECT count(*) FROM campaign") >= progress.campaigns, 1);
    store_close(fixture->store);
    fixture->store = NULL;
    /* ... and it continues once there is room. */
    assert_int_equal(unlink(ballast), 0);
    wrong = scenario_check(fixture->path, &progress);
    if (wrong)
        fail_msg("%s", wrong);
    assert_ok(scenario_run(fixture->path, number + 1, &progress, &err), err);
    assert_null(scenario_check(fixture->path, &progress));
}

static int run(struct fixture *fixture)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(test_full_disk, fixture)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    void *state = NULL;
    struct fixture *fixture;
    int failures;

    if (fixture_make(&state) != 0)
        return 1;
    fixture = state;
    if (!mount_small(fixture->folder)) {
        printf("skipped: no privilege to mount a small file system (%s)\n", strerror(errno));
        fixture_remove(&state);
        return SKIPPED;
    }
    failures = run(fixture);
    umount(fixture->folder);
    fixture_remove(&state);
    return failures;
}
