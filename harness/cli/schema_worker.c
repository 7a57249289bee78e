/* What worker and stack write. */
#include "harness/cli/schema_data.h"

static const struct member worker_runs_members[] = {MEMBER("kind", shape_string),
                                                    MEMBER("precisions", shape_strings),
                                                    MEMBER("devices", shape_strings),
                                                    {0}};
static const struct shape worker_runs = SHAPE_OBJECT_OF(worker_runs_members);
static const struct shape worker_runs_list = SHAPE_LIST_OF(worker_runs);
static const struct member worker_members[] = {
    MEMBER("name", shape_string),
    MEMBER("version", shape_string),
    MEMBER("description", shape_string),
    MEMBER("installed", shape_boolean),
    MEMBER_SAYS("folder", shape_string, "where it is installed, or would be"),
    OR_NULL_SAYS("bytes", shape_integer, "of its files; null: it is not installed"),
    MEMBER_SAYS("entry", shape_string, "the program that is started; assay: its own worker"),
    OR_NULL("interpreter", shape_string),
    MEMBER("modes", shape_strings),
    MEMBER_SAYS("runs", worker_runs_list, "what it can measure"),
    MEMBER_SAYS("declaration", shape_digest, "of its worker.yaml"),
    MEMBER_SAYS("lock", shape_digest, "of the version's lock file"),
    MEMBER_SAYS("packages", shape_strings, "those of the lock file, each with its hashes"),
    {0}};
static const struct shape worker = SHAPE_OBJECT_NAMED("worker", worker_members);
const struct shape schema_worker = SHAPE_LIST_OF(worker);

static const struct member stack_members[] = {
    MEMBER("name", shape_string),
    MEMBER("version", shape_string),
    MEMBER("description", shape_string),
    MEMBER("installed", shape_boolean),
    MEMBER_SAYS("folder", shape_string, "where it is installed, or would be"),
    OR_NULL_SAYS("bytes", shape_integer, "of its files; null: it is not installed"),
    OR_NULL_SAYS("driver", shape_string, "its library, below the environment in the folder"),
    MEMBER_SAYS("libraries", shape_object, "by assay's name, below site-packages"),
    MEMBER_SAYS("declaration", shape_digest, "of its stack.yaml"),
    MEMBER_SAYS("lock", shape_digest, "of the version's lock file"),
    MEMBER_SAYS("packages", shape_strings, "those of the lock file, each with its hashes"),
    {0}};
static const struct shape stack = SHAPE_OBJECT_NAMED("stack", stack_members);
const struct shape schema_stack = SHAPE_LIST_OF(stack);
