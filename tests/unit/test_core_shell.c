#include "harness/core/shell.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

/* What a shell makes of the word is the word, byte for byte. */
TEST(a_shell_reads_it_back)
{
    static const char *const words[] = {
        "plain.db",     "with blank/x.db",
        "it's.db",      "$HOME/x.db",
        "`id`.db",      "a\"b\\c.db",
        "a\nb.db",      "end\n\n",
        "\n",           "*?[a].db",
        "a;b|c&d>e<f.", "-rf",
        "50%\t'.db",    "gr\303\266\303\237e.db",
        "bad\377.db",   "~",
        "#x",           "",
        "a=b",          "!x",
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char *quoted = shell_quoted(words[i]), *command, got[64] = "";
        FILE *pipe;
        size_t length;

        assert_non_null(quoted);
        command = malloc(strlen(quoted) + 32);
        assert_non_null(command);
        sprintf(command, "printf '%%s|' %s", quoted);
        pipe = popen(command, "r");
        assert_non_null(pipe);
        length = fread(got, 1, sizeof(got) - 1, pipe);
        assert_int_equal(pclose(pipe), 0);
        assert_int_equal(length, strlen(words[i]) + 1);
        assert_memory_equal(got, words[i], length - 1);
        free(command);
        free(quoted);
    }
}

/* What nothing means anything in stays as people wrote it; what is shown is safe on a terminal. */
TEST(it_is_as_simple_as_it_can_be)
{
    static const char *const words[][2] = {
        {"results/x-1.db", "results/x-1.db"},
        {"a b", "'a b'"},
        {"gr\303\266\303\237e", "'gr\303\266\303\237e'"},
        {"a\nb", "\"$(printf 'a\\012b')\""},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char *quoted = shell_quoted(words[i][0]);

        assert_string_equal(quoted, words[i][1]);
        free(quoted);
    }
}
