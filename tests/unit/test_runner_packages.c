#include "harness/runner/packages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/recorded_machine.h"

static void test_found(void **state)
{
    struct packages *packages = NULL;
    struct package package = {0};

    (void)state;
    recorded_machine_use("cloud_guest");
    recorded_machine_write("/var/lib/dpkg/info/libc6:amd64.list",
                           "/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n"
                           "/lib/x86_64-linux-gnu/libm.so.6\n");
    recorded_machine_write("/var/lib/dpkg/info/libc6:i386.list", "/lib/i386/libc.so.6\n");
    recorded_machine_write("/var/lib/dpkg/info/libc6:amd64.md5sums", "0  lib/x86/libz.so\n");
    recorded_machine_write("/var/lib/dpkg/info/sqlite3.list", "/usr/bin/sqlite3");
    recorded_machine_write("/var/lib/dpkg/info/gone.list", "/usr/lib/libgone.so\n");
    recorded_machine_write("/var/lib/dpkg/status",
                           "Package: libc6\nStatus: install ok installed\nArchitecture: i386\n"
                           "Version: 2.36-9+i\n\nPackage: libc6\nArchitecture: amd64\n"
                           "Version: 2.36-9+deb12u10\nDescription: C\n more\n\n"
                           "Package: sqlite3\nVersion: 3.40.1-2\nArchitecture: amd64");
    assert_int_equal(packages_open(&packages, NULL), STATUS_OK);
    assert_true(packages_find(packages, "/usr/lib/x86_64-linux-gnu/libc.so.6", &package));
    assert_string_equal(package.name, "libc6:amd64");
    assert_string_equal(package.version, "2.36-9+deb12u10");
    assert_string_equal(package.manager, "dpkg");
    assert_true(packages_find(packages, "/lib/i386/libc.so.6", &package));
    assert_string_equal(package.version, "2.36-9+i");
    assert_true(packages_find(packages, "/usr/bin/sqlite3", &package));
    assert_string_equal(package.version, "3.40.1-2");
    /* Of no package, or of one that is not installed any more. */
    assert_false(packages_find(packages, "/opt/lib/libc.so.6", &package));
    assert_false(packages_find(packages, "/usr/lib/libgone.so", &package));
    assert_false(packages_find(packages, "/lib/x86/libz.so", &package));
    packages_destroy(packages);
    recorded_machine_remove();
}

static void test_no_dpkg(void **state)
{
    struct packages *packages = NULL;
    struct package package = {0};

    (void)state;
    recorded_machine_use("laptop");
    assert_int_equal(packages_open(&packages, NULL), STATUS_OK);
    assert_false(packages_find(packages, "/usr/lib/x86_64-linux-gnu/libc.so.6", &package));
    packages_destroy(packages);
    packages_destroy(NULL);
    recorded_machine_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),
        cmocka_unit_test(test_no_dpkg),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
