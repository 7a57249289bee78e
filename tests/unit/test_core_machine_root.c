#include "harness/core/machine_root.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/recorded_machine.h"
#include "tests/support/unit.h"

static size_t count_of(char **names)
{
    size_t count = 0;

    while (names[count])
        count++;
    return count;
}

/* As many as a server has processes, or a distribution packages. */
TEST(all_names)
{
    enum { MANY = 6000 };
    char path[64];
    char **names;

    recorded_machine_use("laptop");
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof(path), "/many/n%d", i);
        recorded_machine_write(path, "");
    }
    names = machine_list("/many", "n");
    assert_non_null(names);
    assert_int_equal(count_of(names), MANY);
    assert_string_equal(names[2], "n2");
    assert_string_equal(names[10], "n10");
    assert_string_equal(names[MANY - 1], "n5999");
    machine_list_free(names);
    recorded_machine_remove();
}

TEST(numbers_by_value)
{
    static const char *const sorted[] = {"cpu2", "cpu10", "temp1_input", "temp10_input"};
    char **names;

    recorded_machine_use("laptop");
    recorded_machine_write("/few/temp10_input", "");
    recorded_machine_write("/few/cpu10", "");
    recorded_machine_write("/few/temp1_input", "");
    recorded_machine_write("/few/cpu2", "");
    recorded_machine_write("/few/.hidden", "");
    names = machine_list("/few", "");
    assert_int_equal(count_of(names), 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(names[i], sorted[i]);
    machine_list_free(names);
    names = machine_list("/none", "");
    assert_int_equal(count_of(names), 0);
    machine_list_free(names);
    assert_true(machine_has("/few/cpu2"));
    assert_false(machine_has("/few/cpu3"));
    recorded_machine_remove();
}
