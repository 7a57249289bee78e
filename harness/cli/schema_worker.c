/* What worker and stack write. */
#include "harness/cli/schema_data.h"
#include "harness/core/shape.h"

/* What a worker and a stack have both: first where it is, last what it is made of. */
#define INSTALLED_MEMBERS                                                                          \
    SHOWN("name", TEXT), SHOWN("version", TEXT), SHOWN("description", TEXT),                       \
        SHOWN("installed", BOOLEAN),                                                               \
        SHOWN("folder", TEXT, .help = "where it is installed, or would be"),                       \
        OR_NULL("bytes", INTEGER, .help = "of its files; null: it is not installed")
#define LOCKED_MEMBERS                                                                             \
    SHOWN("lock", DIGEST, .help = "of the version's lock file"),                                   \
        SHOWN("packages", LIST, .of = &type_of_text,                                               \
              .help = "those of the lock file, each with its hashes")

static const struct type worker_runs = TYPE_OF({
    SHOWN("kind", TEXT),
    SHOWN("precisions", LIST, .of = &type_of_text),
    SHOWN("devices", LIST, .of = &type_of_text),
});
static const struct member worker_members[] = {
    INSTALLED_MEMBERS,
    SHOWN("entry", TEXT, .help = "the program that is started; assay: its own worker"),
    OR_NULL("interpreter", TEXT),
    SHOWN("modes", LIST, .of = &type_of_text),
    SHOWN("runs", LIST, .of = &worker_runs, .help = "what it can measure"),
    SHOWN("declaration", DIGEST, .help = "of its worker.yaml"),
    LOCKED_MEMBERS,
};
static const struct type worker = TYPE_OF_MEMBERS(worker_members, .def = "worker");
const struct type schema_worker = {LIST_OF(worker)};

static const struct member stack_members[] = {
    INSTALLED_MEMBERS,
    OR_NULL("driver", TEXT, .help = "its library, below the environment in the folder"),
    SHOWN("libraries", JSON, .help = "by assay's name, below site-packages"),
    SHOWN("declaration", DIGEST, .help = "of its stack.yaml"),
    LOCKED_MEMBERS,
};
static const struct type stack = TYPE_OF_MEMBERS(stack_members, .def = "stack");
const struct type schema_stack = {LIST_OF(stack)};
