#include "harness/runner/packages.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "harness/core/machine_root.h"
#include "protocols/same_stack.h"
#include "tests/support/recorded_machine.h"
#include "tests/support/unit.h"

static bool find(struct packages *packages, const char *path, const struct digest *content,
                 struct package *ret)
{
    const struct packages_file file = {.path = path, .content = content};

    return packages_find(packages, &file, ret);
}

TEST(found)
{
    struct packages *packages = NULL;
    struct package package = {0};

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
    assert_true(find(packages, "/usr/lib/x86_64-linux-gnu/libc.so.6", NULL, &package));
    assert_string_equal(package.name, "libc6:amd64");
    assert_string_equal(package.version, "2.36-9+deb12u10");
    assert_string_equal(package.manager, "dpkg");
    assert_true(find(packages, "/lib/i386/libc.so.6", NULL, &package));
    assert_string_equal(package.version, "2.36-9+i");
    assert_true(find(packages, "/usr/bin/sqlite3", NULL, &package));
    assert_string_equal(package.version, "3.40.1-2");
    /* Of no package, or of one that is not installed any more. */
    assert_false(find(packages, "/opt/lib/libc.so.6", NULL, &package));
    assert_false(find(packages, "/usr/lib/libgone.so", NULL, &package));
    assert_false(find(packages, "/lib/x86/libz.so", NULL, &package));
    packages_destroy(packages);
    recorded_machine_remove();
}

TEST(pacman)
{
    struct packages *packages = NULL;
    struct package package = {0};

    recorded_machine_use("laptop");
    recorded_machine_write("/var/lib/pacman/local/glibc-2.40-1/desc",
                           "%NAME%\nglibc\n\n%VERSION%\n2.40+r16-1\n\n%ARCH%\nx86_64\n\n"
                           "%DEPENDS%\nlinux-api-headers\n");
    recorded_machine_write("/var/lib/pacman/local/glibc-2.40-1/files",
                           "%FILES%\nusr/\nusr/lib/\nusr/lib/libc.so.6\nusr/share/x\n\n"
                           "%BACKUP%\netc/gai.so.conf\t0123\n");
    recorded_machine_write("/var/lib/pacman/local/broken-1/desc", "%NAME%\nbroken\n");
    recorded_machine_write("/var/lib/pacman/local/broken-1/files", "%FILES%\nusr/lib/libb.so\n");
    assert_int_equal(packages_open(&packages, NULL), STATUS_OK);
    assert_true(find(packages, "/usr/lib/libc.so.6", NULL, &package));
    assert_string_equal(package.manager, "pacman");
    assert_string_equal(package.name, "glibc:x86_64");
    assert_string_equal(package.version, "2.40+r16-1");
    assert_false(find(packages, "/etc/gai.so.conf", NULL, &package));
    assert_false(find(packages, "/usr/lib/libb.so", NULL, &package));
    packages_destroy(packages);
    recorded_machine_remove();
}

TEST(apk)
{
    struct packages *packages = NULL;
    struct package package = {0};

    recorded_machine_use("laptop");
    recorded_machine_write("/lib/apk/db/installed",
                           "C:Q1x=\nP:musl\nV:1.2.5-r0\nA:x86_64\nF:lib\nR:ld-musl-x86_64.so.1\n"
                           "a:0:0:755\nZ:Q1y=\nF:usr/bin\nR:ldd\n\n"
                           "P:scanelf\nV:1.3.7-r2\nF:usr/bin\nR:scanelf\n\nF:lib\nR:stray.so\n");
    assert_int_equal(packages_open(&packages, NULL), STATUS_OK);
    assert_true(find(packages, "/lib/ld-musl-x86_64.so.1", NULL, &package));
    assert_string_equal(package.manager, "apk");
    assert_string_equal(package.name, "musl:x86_64");
    assert_string_equal(package.version, "1.2.5-r0");
    assert_true(find(packages, "/usr/bin/scanelf", NULL, &package));
    assert_string_equal(package.name, "scanelf");
    assert_false(find(packages, "/lib/stray.so", NULL, &package));
    packages_destroy(packages);
    recorded_machine_remove();
}

TEST(wheels)
{
    struct packages *packages = NULL;
    struct package package = {0};
    const struct digest content = digest_bytes("abc", 3), other = digest_bytes("abd", 3);

    recorded_machine_use("laptop");
    recorded_machine_write(
        "/opt/v/lib/python3.11/site-packages/intel_opencl_rt-2024.2.0.dist-info/RECORD",
        "../../../lib/libintelocl.so.1,sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0,3\n"
        "\"ocl/a,b.so\",sha256=x,1\nocl/plain.so,,\nbroken.so\n../../../../../../up.so,,\n"
        "/lib/absolute.so,,\n");
    recorded_machine_write("/opt/v/lib/python3.11/site-packages/nodash.dist-info/RECORD",
                           "c.so,,\n");
    assert_int_equal(packages_open(&packages, NULL), STATUS_OK);
    assert_true(find(packages, "/opt/v/lib/libintelocl.so.1", &content, &package));
    assert_string_equal(package.manager, "pip");
    assert_string_equal(package.name, "intel-opencl-rt");
    assert_string_equal(package.version, "2024.2.0");
    assert_null(package.altered);
    assert_true(find(packages, "/opt/v/lib/libintelocl.so.1", &other, &package));
    assert_string_equal(package.altered, SAME_STACK_ALTERED "intel-opencl-rt 2024.2.0");
    assert_true(
        find(packages, "/opt/v/lib/python3.11/site-packages/ocl/plain.so", &other, &package));
    assert_true(find(packages, "/opt/v/lib/python3.11/site-packages/ocl/a,b.so", NULL, &package));
    assert_false(find(packages, "/opt/v/lib/python3.11/site-packages/c.so", NULL, &package));
    assert_false(find(packages, "/up.so", NULL, &package));
    assert_false(find(packages, "/lib/absolute.so", NULL, &package));
    assert_false(find(packages, "/other/lib/libintelocl.so.1", NULL, &package));
    packages_destroy(packages);
    recorded_machine_remove();
}

/* A file of this content in the recorded machine, as it is there now. */
static struct packages_file file_at(const char *path, const char *content, char readable[PATH_MAX],
                                    struct digest *digest)
{
    recorded_machine_write(path, content);
    assert_true(machine_path(readable, path));
    *digest = digest_bytes(content, strlen(content));
    return (struct packages_file){.path = path, .content = digest, .readable = readable};
}

/* "abc" has the MD5 of RFC 1321, A.5, and the SHA-1 of FIPS 180-4's example. */
TEST(altered)
{
    static const char list[] = "/usr/lib/liba.so\n/usr/lib/libb.so\n/usr/lib/libc.so\n";
    struct packages *packages = NULL;
    struct package package = {0};
    char readable[PATH_MAX];
    struct digest digest;
    struct packages_file file;

    recorded_machine_use("laptop");
    recorded_machine_write("/var/lib/dpkg/info/one.list", list);
    recorded_machine_write("/var/lib/dpkg/info/one.md5sums",
                           "900150983cd24fb0d6963f7d28e17f72  usr/lib/liba.so\n"
                           "900150983cd24fb0d6963f7d28e17f72  usr/lib/libb.so\nnonsense\n");
    recorded_machine_write("/var/lib/dpkg/info/two.list", "/usr/lib/libb.so\n");
    recorded_machine_write("/var/lib/dpkg/info/two.md5sums",
                           "e80b5017098950fc58aad83c8c14978e  usr/lib/libb.so\n"); /* abcdef */
    recorded_machine_write("/var/lib/dpkg/status", "Package: one\nArchitecture: all\nVersion: 1\n\n"
                                                   "Package: two\nArchitecture: all\nVersion: 2\n");
    recorded_machine_write(
        "/lib/apk/db/installed",
        "P:three\nV:3\nA:x\nF:opt/lib\nR:libd.so\nZ:Q1qZk+NkcGgWq6PiVxeFDCbJzQ2J0=\n");
    assert_int_equal(packages_open(&packages, NULL), STATUS_OK);
    file = file_at("/usr/lib/liba.so", "abc", readable, &digest);
    assert_true(packages_find(packages, &file, &package));
    assert_null(package.altered);
    file = file_at("/usr/lib/liba.so", "abd", readable, &digest);
    assert_true(packages_find(packages, &file, &package));
    assert_string_equal(package.altered, SAME_STACK_ALTERED "one 1");
    file.changed_ns = 1; /* before it was installed */
    assert_true(packages_find(packages, &file, &package));
    assert_null(package.altered);
    /* Two packages have the path: that whose content it is. */
    file = file_at("/usr/lib/libb.so", "abcdef", readable, &digest);
    assert_true(packages_find(packages, &file, &package));
    assert_string_equal(package.name, "two");
    assert_null(package.altered);
    file = file_at("/usr/lib/libb.so", "abc", readable, &digest);
    assert_true(packages_find(packages, &file, &package));
    assert_string_equal(package.name, "one");
    assert_null(package.altered);
    /* Nobody recorded it. */
    file = file_at("/usr/lib/libc.so", "abd", readable, &digest);
    assert_true(packages_find(packages, &file, &package));
    assert_null(package.altered);
    file = file_at("/opt/lib/libd.so", "abc", readable, &digest);
    assert_true(packages_find(packages, &file, &package));
    assert_null(package.altered);
    file = file_at("/opt/lib/libd.so", "abd", readable, &digest);
    assert_true(packages_find(packages, &file, &package));
    assert_string_equal(package.altered, SAME_STACK_ALTERED "three:x 3");
    packages_destroy(packages);
    recorded_machine_remove();
}

TEST(no_dpkg)
{
    struct packages *packages = NULL;
    struct package package = {0};

    recorded_machine_use("laptop");
    assert_int_equal(packages_open(&packages, NULL), STATUS_OK);
    assert_false(find(packages, "/usr/lib/x86_64-linux-gnu/libc.so.6", NULL, &package));
    packages_destroy(packages);
    packages_destroy(NULL);
    recorded_machine_remove();
}
