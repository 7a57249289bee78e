/*
 * stored - the columns that a record of a result is read from, each described once: FIRST and NEXT
 * rows of
 *
 *     (member, kind, flags, sql, ...)
 *
 * give the column of the SELECT (STORED_SELECT, store_read.c), the member of the type that
 * `--json` is described by (store_cell_type, stored.c), and the member of a struct that reports
 * read (STORED_FIELDS, reports/view.h) and how (STORED_READ, reports/view.c); rows of SHOW are of
 * no interest to reports. `kind` is one of core/type.h, or ISO (a time of day, as text), SEED (of
 * 64 bits, as text), BLOB (its digest), VALUE (JSON by the type `of`) and COLUMN (a plain column by
 * the type `of`). Lists of what a trial leaves are the structs that are stored, too (STORED_GIVEN,
 * store.h), and how they are written (STORED_WRITE, store_trial.c).
 */
#ifndef ASSAY_RESULTS_STORE_STORED_H
#define ASSAY_RESULTS_STORE_STORED_H

#include "harness/core/workload_cost.h"

/* An integer that is not known where it is below 0. */
#define STORED_FROM_0 (MEMBER_NULLABLE | MEMBER_FROM_0)

/* clang-format off */
#define STORED_CAMPAIGN(FIRST, NEXT, SHOW)                                                         \
    FIRST(uid, TEXT, 0, "g.uid")                                                                   \
    SHOW(id, INTEGER, 0, "g.id")                                                                   \
    NEXT(created_utc_ns, INTEGER, 0, "g.created_utc_ns")                                           \
    SHOW(created, ISO, 0, "g.created_utc_ns")                                                      \
    NEXT(command, TEXT, MEMBER_NULLABLE, "g.command")                                              \
    NEXT(tool_version, TEXT, MEMBER_NULLABLE, "g.tool_version")                                    \
    NEXT(tool_digest, TEXT, MEMBER_NULLABLE, "g.tool_digest")                                      \
    NEXT(plan_digest, DIGEST, MEMBER_NULLABLE, "g.plan")

/* The case of a workload: plan, worker's message, record and fields of a result spell it alike. */
#define STORED_CASE(FIRST, NEXT, SHOW)                                                             \
    FIRST(precision, TEXT, MEMBER_NULLABLE, "precision")                                           \
    NEXT(batch, INTEGER, STORED_FROM_0, "batch")                                                   \
    NEXT(scenario, TEXT, MEMBER_NULLABLE, "scenario")                                              \
    NEXT(implementation, TEXT, MEMBER_NULLABLE, "implementation")

#define STORED_IDENTITY(FIRST, NEXT, SHOW)                                                         \
    FIRST(workload, TEXT, MEMBER_NULLABLE, "workload_name")                                        \
    NEXT(workload_digest, DIGEST, MEMBER_NULLABLE, "workload")                                     \
    NEXT(protocol, TEXT, MEMBER_NULLABLE, "protocol_name")                                         \
    NEXT(protocol_digest, DIGEST, MEMBER_NULLABLE, "protocol")                                     \
    NEXT(kind, TEXT, MEMBER_NULLABLE, "kind")                                                      \
    STORED_CASE(NEXT, NEXT, SHOW)                                                                  \
    NEXT(seed, SEED, MEMBER_NULLABLE, "seed")

/* Of one iteration. */
#define STORED_COST(FIRST, NEXT, SHOW) WORKLOAD_COST_MAP(FIRST, NEXT, SHOW)
#define COST_COLUMN(name) "c." #name
#define COST_IN_RECORD(name)                                                                       \
    "(SELECT json_extract(r.body, '$.cells[' || (c.ordinal - 1) || ']." #name "') FROM record r"   \
    " WHERE r.id = g.record)"

/* Its column `reading_set` becomes "readings". */
#define STORED_DEVICE(FIRST, NEXT, SHOW)                                                           \
    FIRST(backend, TEXT, 0, "d.backend")                                                           \
    SHOW(id, INTEGER, 0, "d.id")                                                                   \
    NEXT(index, INTEGER, 0, "d.device_index")                                                      \
    NEXT(name, TEXT, MEMBER_NULLABLE, "d.name")                                                    \
    NEXT(vendor, TEXT, MEMBER_NULLABLE, "d.vendor")                                                \
    NEXT(uuid, TEXT, MEMBER_NULLABLE, "d.uuid")                                                    \
    NEXT(type, TEXT, MEMBER_NULLABLE, "d.type")                                                    \
    NEXT(simulated, BOOLEAN, MEMBER_NULLABLE, "d.simulated")                                       \
    SHOW(digest, DIGEST, 0, "d.digest")

#define STORED_TRIAL_DEVICE(FIRST, NEXT, SHOW)                                                     \
    FIRST(id, INTEGER, 0, "d.id")                                                                  \
    SHOW(name, TEXT, MEMBER_NULLABLE, "d.name")                                                    \
    SHOW(digest, DIGEST, 0, "d.digest")

#define STORED_TRIAL(FIRST, NEXT, SHOW)                                                            \
    FIRST(sequence, INTEGER, 0, "t.sequence")                                                      \
    SHOW(id, INTEGER, 0, "t.id")                                                                   \
    NEXT(attempt, INTEGER, 0, "t.attempt")                                                         \
    NEXT(started_utc_ns, INTEGER, 0, "t.started_utc_ns")                                           \
    SHOW(started, ISO, 0, "t.started_utc_ns")                                                      \
    STORED_TRIAL_END(NEXT, NEXT, SHOW)

#define STORED_TRIAL_END(FIRST, NEXT, SHOW)                                                        \
    FIRST(status, TEXT, 0, "coalesce(e.status, 'no_end')",                                         \
          .help = "the name of a status, or no_end")                                               \
    NEXT(message, TEXT, MEMBER_NULLABLE, "e.message")                                              \
    SHOW(orphan, BOOLEAN, MEMBER_NULLABLE, "e.orphan", .help = "the harness ended before it")      \
    NEXT(ended_utc_ns, INTEGER, STORED_FROM_0, "e.ended_utc_ns")                                   \
    NEXT(iterations_per_sample, INTEGER, MEMBER_NULLABLE, "e.iterations_per_sample")               \
    NEXT(window_first, INTEGER, STORED_FROM_0, "e.window_first",                                   \
         .help = "the window's first sample of wall_ns; null: it never got there")                 \
    NEXT(samples, INTEGER, STORED_FROM_0, "e.samples", .help = "of wall_ns")                       \
    NEXT(facts, JSON, MEMBER_NULLABLE, "e.facts", .choices = facts_choices,                        \
         .help = "what the workload reported of itself, and the harness saw")                      \
    NEXT(exit_code, INTEGER, STORED_FROM_0, "e.exit_code",                                         \
         .help = "of the worker; null: a signal ended it, or not known")                           \
    NEXT(signal, INTEGER, MEMBER_NULLABLE, "e.signal")                                             \
    NEXT(max_rss_bytes, COUNT, STORED_FROM_0, "e.max_rss_bytes",                                   \
         .help = "the worker's largest resident memory")

#define STORED_PHASE(FIRST, NEXT, SHOW)                                                            \
    FIRST(name, TEXT, 0, "name")                                                                   \
    NEXT(begin_ns, COUNT, 0, "begin_ns", .help = "of the monotonic clock")                         \
    NEXT(end_ns, COUNT, MEMBER_NULLABLE, "end_ns")

/* The chunks of a series of samples. */
#define STORED_SERIES(FIRST, NEXT, SHOW)                                                           \
    FIRST(name, TEXT, 0, "name")                                                                   \
    SHOW(samples, INTEGER, 0, "sum(count)")                                                        \
    SHOW(minimum, COUNT, MEMBER_NULLABLE, "min(minimum)")                                          \
    SHOW(maximum, COUNT, MEMBER_NULLABLE, "max(maximum)")                                          \
    SHOW(chunks, INTEGER, 0, "count(*)")

#define STORED_CHECK(FIRST, NEXT, SHOW)                                                            \
    FIRST(phase, TEXT, 0, "phase")                                                                 \
    NEXT(output, TEXT, 0, "output")                                                                \
    NEXT(metric, TEXT, 0, "metric")                                                                \
    SHOW(error, COLUMN, MEMBER_NULLABLE, "coalesce(error, error_text)", .of = &number_or_text,     \
         .help = "text where it is no number: nan, inf")                                           \
    NEXT(tolerance, REAL, 0, "tolerance")                                                          \
    NEXT(compared, COUNT, MEMBER_NULLABLE, "compared")                                             \
    NEXT(passed, BOOLEAN, 0, "passed")                                                             \
    NEXT(reason, TEXT, MEMBER_NULLABLE, "reason")

#define STORED_COMPONENT(FIRST, NEXT, SHOW)                                                        \
    FIRST(path, TEXT, MEMBER_NULLABLE, "c.path")                                                   \
    NEXT(kind, TEXT, MEMBER_NULLABLE, "c.kind")                                                    \
    NEXT(version, TEXT, MEMBER_NULLABLE, "c.version")                                              \
    NEXT(build_id, TEXT, MEMBER_NULLABLE, "c.build_id")                                            \
    NEXT(size, COUNT, MEMBER_NULLABLE, "c.size")                                                   \
    NEXT(sha256, DIGEST, MEMBER_NULLABLE, "c.sha256")                                              \
    NEXT(missing_reason, TEXT, MEMBER_NULLABLE, "c.missing_reason")                                \
    NEXT(package, TEXT, MEMBER_NULLABLE, "c.package")                                              \
    NEXT(package_version, TEXT, MEMBER_NULLABLE, "c.package_version")                              \
    SHOW(manager, TEXT, MEMBER_NULLABLE, "c.manager")

/* Its columns `readings_begin` and `readings_end` become "begin" and "end". */
#define STORED_TELEMETRY(FIRST, NEXT, SHOW)                                                        \
    FIRST(part, TEXT, 0, "t.part")                                                                 \
    SHOW(status, COLUMN, 0, "t.status", .of = &type_of_status)                                     \
    SHOW(message, TEXT, MEMBER_NULLABLE, "t.message")                                              \
    SHOW(channels, VALUE, MEMBER_NULLABLE, "c.body", .of = &channels,                              \
         .help = "an object where they were withheld")                                             \
    SHOW(interval_ns, COUNT, MEMBER_NULLABLE, "t.interval_ns")                                     \
    SHOW(ticks, INTEGER, STORED_FROM_0, "t.ticks")                                                 \
    SHOW(late_ticks, INTEGER, STORED_FROM_0, "t.late_ticks",                                       \
         .help = "by more than half an interval")                                                  \
    SHOW(cpu_ns, COUNT, STORED_FROM_0, "t.cpu_ns")                                                 \
    SHOW(reading_ns, COUNT, STORED_FROM_0, "t.reading_ns")                                         \
    SHOW(dump, BLOB, MEMBER_NULLABLE, "t.dump")

#define STORED_ARTIFACT(FIRST, NEXT, SHOW)                                                         \
    FIRST(digest, DIGEST, 0, "a.content")                                                          \
    SHOW(artifact, JSON, 0, "c.body")

#define STORED_ESTIMATE(FIRST, NEXT, SHOW)                                                         \
    FIRST(id, INTEGER, 0, "id")                                                                    \
    SHOW(version, INTEGER, 0, "version")                                                           \
    SHOW(created_utc_ns, INTEGER, 0, "created_utc_ns")                                             \
    SHOW(created, ISO, 0, "created_utc_ns")

#define STORED_AMENDMENT(FIRST, NEXT, SHOW)                                                        \
    FIRST(amendment, INTEGER, 0, "id")                                                             \
    SHOW(utc_ns, INTEGER, 0, "utc_ns")                                                             \
    SHOW(created, ISO, 0, "utc_ns")                                                                \
    SHOW(author, TEXT, MEMBER_NULLABLE, "author")                                                  \
    SHOW(reason, TEXT, MEMBER_NULLABLE, "reason")

/* The file that another program's result came from. */
#define STORED_ORIGIN(FIRST, NEXT, SHOW)                                                           \
    FIRST(file, TEXT, MEMBER_NULLABLE, "i.file")                                                   \
    NEXT(sha256, DIGEST, MEMBER_NULLABLE, "i.sha256")                                              \
    SHOW(size, COUNT, MEMBER_NULLABLE, "i.size")                                                   \
    SHOW(format, TEXT, MEMBER_NULLABLE, "i.format")                                                \
    NEXT(program, TEXT, MEMBER_NULLABLE, "i.program")                                              \
    NEXT(program_version, TEXT, MEMBER_NULLABLE, "i.program_version")                              \
    SHOW(imported, ISO, 0, "g.created_utc_ns")

#define STORED_CELL(FIRST, NEXT, SHOW)                                                             \
    FIRST(ordinal, INTEGER, 0, "c.ordinal")                                                        \
    SHOW(id, TEXT, 0, RESULT_ID)                                                                   \
    SHOW(cell, INTEGER, 0, "c.id")                                                                 \
    NEXT(backend, TEXT, MEMBER_NULLABLE, "c.backend")                                              \
    NEXT(device_spec, TEXT, MEMBER_NULLABLE, "c.device_spec")                                      \
    NEXT(device_index, INTEGER, MEMBER_NULLABLE, "c.device_index")                                 \
    NEXT(trials_planned, INTEGER, MEMBER_NULLABLE, "c.trials")                                     \
    NEXT(arm, TEXT, MEMBER_NULLABLE, ARM_NAME, .help = "a or b of an A/B")                         \
    SHOW(arm_settings, ANY, MEMBER_NULLABLE, ARM_SETTINGS, .help = "what the arm was given")       \
    SHOW(worker, ANY, MEMBER_NULLABLE, NAMED_WORKER,                                               \
         .help = "the framework that measured; null: assay's own kernels")                         \
    SHOW(workload, JSON, MEMBER_NULLABLE, "w.body", .help = "its declaration")                     \
    SHOW(protocol, JSON, MEMBER_NULLABLE, "p.body", .help = "its declaration")

/* A row of `results` (store_list.c), and, but for its metrics, of the exports as CSV and Parquet. */
#define STORED_RESULT(FIRST, NEXT, SHOW)                                                           \
    FIRST(id, TEXT, 0, RESULT_ID)                                                                  \
    SHOW(cell, INTEGER, MEMBER_LOCAL, "c.id")                                                      \
    SHOW(campaign, INTEGER, MEMBER_LOCAL, "c.campaign")                                            \
    SHOW(workload, TEXT, 0, "c.workload_name")                                                     \
    SHOW(kind, TEXT, MEMBER_NULLABLE, "c.kind")                                                    \
    SHOW(precision, TEXT, MEMBER_NULLABLE, "c.precision")                                          \
    SHOW(batch, INTEGER, MEMBER_NULLABLE, "c.batch")                                               \
    SHOW(scenario, TEXT, MEMBER_NULLABLE, "c.scenario")                                            \
    SHOW(implementation, TEXT, MEMBER_NULLABLE, "c.implementation")                                \
    SHOW(arm, TEXT, MEMBER_NULLABLE, ARM_NAME, .help = "a or b of an A/B")                         \
    SHOW(support, TEXT, MEMBER_NULLABLE, "json_extract(f.facts, '$.gemm.support')")                \
    SHOW(library, TEXT, MEMBER_NULLABLE, "json_extract(f.facts, '$.gemm.library')")                \
    SHOW(library_version, TEXT, MEMBER_NULLABLE, "json_extract(f.facts, '$.gemm.version')")        \
    SHOW(protocol, TEXT, MEMBER_NULLABLE, "c.protocol_name")                                       \
    SHOW(backend, TEXT, MEMBER_NULLABLE, "c.backend")                                              \
    SHOW(device_spec, TEXT, MEMBER_NULLABLE, "c.device_spec")                                      \
    SHOW(device, TEXT, MEMBER_NULLABLE, "coalesce(d.name, json_extract(k.body, '$.device'))")      \
    SHOW(simulated, BOOLEAN, MEMBER_NULLABLE, "d.simulated")                                       \
    SHOW(trials_ok, INTEGER, 0, TRIALS_ENDED(" AND x.status = 'ok'"))                              \
    SHOW(trials_ended, INTEGER, 0, TRIALS_ENDED(""))                                               \
    SHOW(trials_planned, INTEGER, MEMBER_NULLABLE, "c.trials")                                     \
    SHOW(verdict, TEXT, MEMBER_NULLABLE,                                                           \
         "coalesce(e.verdict, CASE WHEN k.cell IS NOT NULL THEN 'imported' END)")                  \
    SHOW(grade, TEXT, MEMBER_NULLABLE, HEADLINE("grade"))                                          \
    SHOW(metric, TEXT, MEMBER_NULLABLE, SAID("headline"),                                          \
         .help = "the headline: the metric that value, lo and hi are of")                          \
    SHOW(value, REAL, 0, HEADLINE("value"))                                                        \
    SHOW(lo, REAL, 0, HEADLINE("lo"))                                                              \
    SHOW(hi, REAL, 0, HEADLINE("hi"))                                                              \
    SHOW(unit, TEXT, MEMBER_NULLABLE, HEADLINE("unit"))                                            \
    SHOW(metrics, VALUE, MEMBER_NULLABLE, SAID("metrics"), .of = &metrics_type)                    \
    SHOW(energy_source, TEXT, MEMBER_NULLABLE, SAID("energy_source"))                              \
    SHOW(created_utc_ns, INTEGER, 0, "g.created_utc_ns")                                           \
    SHOW(created, ISO, 0, "g.created_utc_ns")                                                      \
    SHOW(workload_digest, DIGEST, MEMBER_NULLABLE, "lower(hex(c.workload))")                       \
    SHOW(protocol_digest, DIGEST, MEMBER_NULLABLE, "lower(hex(c.protocol))")                       \
    SHOW(driver_version, TEXT, MEMBER_NULLABLE, CONTEXT_DRIVER_VERSION)                            \
    SHOW(host, TEXT, MEMBER_NULLABLE,                                                              \
         CONTEXT_HOST("(SELECT max(t.id) FROM trial t WHERE t.cell = c.id)"))                      \
    SHOW(tool_version, TEXT, MEMBER_NULLABLE, "g.tool_version")                                    \
    SHOW(imported, TEXT, MEMBER_NULLABLE, "i.program",                                             \
         .help = "the program whose result this is; null: assay's own")                            \
    SHOW(foreign_worker, TEXT, MEMBER_NULLABLE, FOREIGN_WORKER,                                    \
         .help = "the program that measured in place of assay's own worker; null: none")
/* clang-format on */

/* "SELECT g.id AS 'id', g.uid AS 'uid', ... "; the form after a colon says what store_json.c
 * makes of a column. */
#define STORED_SELECT(list) "SELECT " STORED_COLUMNS(list)
#define STORED_COLUMNS(list) list(STORED_COLUMN, STORED_NEXT, STORED_NEXT)
#define STORED_COLUMN(member, kind, flags, sql, ...) sql " AS '" #member STORED_FORM_##kind "'"
#define STORED_NEXT(...) ", " STORED_COLUMN(__VA_ARGS__, )
#define STORED_FORM_TEXT
#define STORED_FORM_SEED
#define STORED_FORM_BLOB
#define STORED_FORM_INTEGER
#define STORED_FORM_COUNT
#define STORED_FORM_REAL
#define STORED_FORM_DIGEST
#define STORED_FORM_COLUMN
#define STORED_FORM_BOOLEAN ":bool"
#define STORED_FORM_JSON ":json"
#define STORED_FORM_ANY ":json"
#define STORED_FORM_VALUE ":json"
#define STORED_FORM_ISO ":iso"

/* Members of a struct, after another one: text and JSON are borrowed, an integer may be unknown. */
#define STORED_FIELDS(list) list(STORED_FIELD, STORED_FIELD, STORED_IGNORE)
#define STORED_FIELD(member, of_kind, ...) STORED_FIELD_##of_kind member;
#define STORED_FIELD_TEXT const char *
#define STORED_FIELD_DIGEST const char *
#define STORED_FIELD_SEED const char *
#define STORED_FIELD_JSON const json_t *
#define STORED_FIELD_INTEGER struct view_count
#define STORED_FIELD_COUNT struct view_count
#define STORED_FIELD_BOOLEAN bool
#define STORED_FIELD_REAL double
struct view_count {
    bool known;
    int64_t value;
};

/* How they are read: of the struct STORED_STRUCT, which is to be defined. What is missing or of
 * another type is not known. */
#define STORED_READ(list) list(STORED_INTO, STORED_INTO, STORED_IGNORE)
#define STORED_IGNORE(...)
#define STORED_INTO(member, of_kind, ...) {.name = #member, STORED_INTO_##of_kind(member)},
#define STORED_INTO_TEXT(member)                                                                   \
    .kind = MEMBER_TEXT, .flags = MEMBER_BORROWED, .offset = offsetof(STORED_STRUCT, member)
#define STORED_INTO_DIGEST(member) STORED_INTO_TEXT(member)
#define STORED_INTO_SEED(member) STORED_INTO_TEXT(member)
#define STORED_INTO_JSON(member)                                                                   \
    .kind = MEMBER_JSON, .flags = MEMBER_BORROWED, .offset = offsetof(STORED_STRUCT, member)
#define STORED_INTO_INTEGER(member)                                                                \
    .kind = MEMBER_INTEGER, .offset = offsetof(STORED_STRUCT, member.value),                       \
    .has = offsetof(STORED_STRUCT, member.known)
#define STORED_INTO_COUNT(member) STORED_INTO_INTEGER(member)
#define STORED_INTO_BOOLEAN(member)                                                                \
    .kind = MEMBER_BOOLEAN, .offset = offsetof(STORED_STRUCT, member)
#define STORED_INTO_REAL(member) .kind = MEMBER_REAL, .offset = offsetof(STORED_STRUCT, member)

/* Members of a struct that is stored; BLOB, VALUE and COLUMN are left to it. */
#define STORED_GIVEN(list) list(STORED_GIVES, STORED_GIVES, STORED_GIVES)
#define STORED_GIVES(member, of_kind, ...) STORED_GIVES_##of_kind(member)
#define STORED_GIVES_TEXT(member) const char *member;     /* NULL: none */
#define STORED_GIVES_DIGEST(member) struct digest member; /* of zeros: none */
#define STORED_GIVES_JSON(member) const json_t *member;   /* NULL: none */
#define STORED_GIVES_INTEGER(member)                                                               \
    int64_t member; /* 0, or STORED_FROM_0: none where MEMBER_NULLABLE */
#define STORED_GIVES_COUNT(member) int64_t member;
#define STORED_GIVES_BOOLEAN(member) bool member;
#define STORED_GIVES_REAL(member) double member;
#define STORED_GIVES_BLOB(member)
#define STORED_GIVES_VALUE(member)
#define STORED_GIVES_COLUMN(member)

/* Members of its type, of the struct STORED_STRUCT: what is none is left out. */
#define STORED_WRITE(list) list(STORED_WRITES, STORED_WRITES, STORED_WRITES)
#define STORED_WRITES(member, of_kind, flags, ...) STORED_WRITES_##of_kind(member, of_kind, flags)
#define STORED_OUT(member, of_kind, with_flags)                                                    \
    MEMBER(STORED_STRUCT, of_kind, member, .flags = (with_flags)),
#define STORED_IF_ANY(flags)                                                                       \
    ((flags)&MEMBER_NULLABLE ? MEMBER_OPTIONAL | ((flags)&MEMBER_FROM_0) : 0)
#define STORED_WRITES_TEXT(member, kind, flags) STORED_OUT(member, kind, MEMBER_OPTIONAL)
#define STORED_WRITES_DIGEST(member, kind, flags) STORED_OUT(member, kind, MEMBER_OPTIONAL)
#define STORED_WRITES_JSON(member, kind, flags) STORED_OUT(member, kind, MEMBER_OPTIONAL)
#define STORED_WRITES_INTEGER(member, kind, flags) STORED_OUT(member, kind, STORED_IF_ANY(flags))
#define STORED_WRITES_COUNT(member, kind, flags)                                                   \
    STORED_OUT(member, kind, (flags)&MEMBER_FROM_0 ? STORED_IF_ANY(flags) : 0)
#define STORED_WRITES_BOOLEAN(member, kind, flags) STORED_OUT(member, kind, 0)
#define STORED_WRITES_REAL(member, kind, flags) STORED_OUT(member, kind, 0)
#define STORED_WRITES_BLOB(member, kind, flags)
#define STORED_WRITES_VALUE(member, kind, flags)
#define STORED_WRITES_COLUMN(member, kind, flags)

#endif
