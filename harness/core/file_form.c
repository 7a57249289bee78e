#include "harness/core/file_form.h"

#include <string.h>

static const struct form {
    const char *magic;
    size_t length;
    const char *remedy;
} forms[] = {
    {"\x1f\x8b", 2, "is gzip: run `gunzip -k FILE` and give the file that it makes"},
    {"\x28\xb5\x2f\xfd", 4, "is zstd: run `zstd -d FILE` and give the file that it makes"},
    {"\xfd"
     "7zXZ",
     5, "is xz: run `xz -dk FILE` and give the file that it makes"},
    {"BZh", 3, "is bzip2: run `bunzip2 -k FILE` and give the file that it makes"},
    {"PK\x03\x04", 4,
     "is a ZIP archive, as a spreadsheet's file is too: unpack it, or save the sheet as CSV"},
    {"PAR1", 4,
     "is Parquet: write it as CSV, for instance by "
     "`duckdb -c \"COPY 'FILE' TO 'file.csv'\"`"},
    {"\xff\xfe", 2,
     "is UTF-16, which > writes in PowerShell; make it UTF-8: iconv -f UTF-16 -t UTF-8"},
    {"\xfe\xff", 2,
     "is UTF-16, which > writes in PowerShell; make it UTF-8: iconv -f UTF-16 -t UTF-8"}};

const char *file_form_remedy(const char *head, size_t length)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (length >= forms[i].length && !memcmp(head, forms[i].magic, forms[i].length))
            return forms[i].remedy;
    /* UTF-16 without its mark: every other byte of plain text is 0. */
    if (length >= 4 && head[0] && !head[1] && head[2] && !head[3])
        return "looks like UTF-16 without a mark; make it UTF-8: iconv -f UTF-16LE -t UTF-8";
    if (length >= 4 && !head[0] && head[1] && !head[2] && head[3])
        return "looks like UTF-16 without a mark; make it UTF-8: iconv -f UTF-16BE -t UTF-8";
    return NULL;
}
