#include "wrapper_fixture.h"

int reached;
enum status answer;

enum status say(struct error *err)
{
    reached++;
    return answer == STATUS_OK ? STATUS_OK : error_set(err, answer, "asked to fail");
}
