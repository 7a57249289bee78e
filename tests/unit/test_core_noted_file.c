#include "harness/core/noted_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "tests/support/unit.h"

TEST(a_file_is_found_by_its_digest)
{
    char folder[] = "/tmp/assay_noted_XXXXXX", *path = NULL;
    AUTO_FREE char *noted = NULL;
    struct error err = ERROR_INIT;
    struct digest digest;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    setenv("XDG_CACHE_HOME", folder, 1);
    assert_int_equal(file_write_atomic("it", "one", 3, 0600, NULL), STATUS_OK);
    assert_int_equal(digest_file("it", &digest, NULL, NULL), STATUS_OK);
    assert_int_equal(noted_file_find(&digest, "the file", &path, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, "the file, the file of SHA-256 "));
    noted_file_note(&digest, "it");
    assert_int_equal(noted_file_find(&digest, "the file", &path, &err), STATUS_OK);
    assert_string_equal(path + strlen(path) - 3, "/it");
    free(path);
    assert_int_equal(file_write_atomic("it", "two", 3, 0600, NULL), STATUS_OK);
    assert_int_equal(noted_file_find(&digest, "the file", &path, &err), STATUS_INVALID);
    unlink("it");
    assert_int_equal(noted_file_find(&digest, "the file", &path, &err), STATUS_NOT_FOUND);
    noted = noted_file_path(&digest);
    unlink(noted);
}
