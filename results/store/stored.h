/*
 * stored - the columns that a record of a result is read from, each described once: FIRST and NEXT
 * rows of
 *
 *     (member, kind, flags, sql, ...)
 *
 * give the column of the SELECT (STORED_SELECT, store_read.c), the member of the type that
 * `--json` is described by (store_cell_type, stored.c), and with STORED_READ the member of a
 * struct that reports read (reports/view.c); rows of SHOW are of no interest to reports. `kind` is
 * one of core/type.h, or ISO (a time of day, as text), SEED (of 64 bits, as text), VALUE (JSON by
 * the type `of`) and COLUMN (a plain column by the type `of`).
 */
#ifndef ASSAY_RESULTS_STORE_STORED_H
#define ASSAY_RESULTS_STORE_STORED_H

#include "harness/core/type.h"
#include "results/store/store.h"

#define NULLABLE MEMBER_NULLABLE
#define RESULT_ID "substr(g.uid, 1, 8) || '/' || c.ordinal"

/* clang-format off */
#define STORED_CAMPAIGN(FIRST, NEXT, SHOW)                                                         \
    FIRST(uid, TEXT, 0, "g.uid")                                                                   \
    SHOW(id, INTEGER, 0, "g.id")                                                                   \
    NEXT(created_utc_ns, INTEGER, 0, "g.created_utc_ns")                                           \
    SHOW(created, ISO, 0, "g.created_utc_ns")                                                      \
    NEXT(command, TEXT, NULLABLE, "g.command")                                                     \
    NEXT(tool_version, TEXT, NULLABLE, "g.tool_version")                                           \
    NEXT(tool_digest, TEXT, NULLABLE, "g.tool_digest")                                             \
    NEXT(plan_digest, DIGEST, NULLABLE, "g.plan")

#define STORED_IDENTITY(FIRST, NEXT, SHOW)                                                         \
    FIRST(workload, TEXT, NULLABLE, "workload_name")                                               \
    NEXT(workload_digest, DIGEST, NULLABLE, "workload")                                            \
    NEXT(protocol, TEXT, NULLABLE, "protocol_name")                                                \
    NEXT(protocol_digest, DIGEST, NULLABLE, "protocol")                                            \
    NEXT(kind, TEXT, NULLABLE, "kind")                                                             \
    NEXT(precision, TEXT, NULLABLE, "precision")                                                   \
    NEXT(batch, INTEGER, NULLABLE, "batch")                                                        \
    NEXT(scenario, TEXT, NULLABLE, "scenario")                                                     \
    NEXT(implementation, TEXT, NULLABLE, "implementation")                                         \
    NEXT(seed, SEED, NULLABLE, "seed")

/* Of one iteration. */
#define STORED_COST(FIRST, NEXT, SHOW)                                                             \
    FIRST(flops, COUNT, NULLABLE, "flops")                                                         \
    NEXT(flops_formula, TEXT, NULLABLE, "flops_formula")                                           \
    NEXT(bytes, COUNT, NULLABLE, "bytes")                                                          \
    NEXT(bytes_formula, TEXT, NULLABLE, "bytes_formula")                                           \
    NEXT(items, COUNT, NULLABLE, "items")                                                          \
    NEXT(item_name, TEXT, NULLABLE, "item_name")                                                   \
    NEXT(device_memory_bytes, COUNT, NULLABLE, "device_memory_bytes")                              \
    NEXT(working_set_bytes, COUNT, NULLABLE, "working_set_bytes")                                  \
    SHOW(headline, TEXT, NULLABLE, "headline")

/* Its column `reading_set` becomes "readings". */
#define STORED_DEVICE(FIRST, NEXT, SHOW)                                                           \
    FIRST(backend, TEXT, 0, "d.backend")                                                           \
    SHOW(id, INTEGER, 0, "d.id")                                                                   \
    NEXT(index, INTEGER, 0, "d.device_index")                                                      \
    NEXT(name, TEXT, NULLABLE, "d.name")                                                           \
    NEXT(vendor, TEXT, NULLABLE, "d.vendor")                                                       \
    NEXT(uuid, TEXT, NULLABLE, "d.uuid")                                                           \
    NEXT(type, TEXT, NULLABLE, "d.type")                                                           \
    NEXT(simulated, BOOLEAN, NULLABLE, "d.simulated")                                              \
    SHOW(digest, DIGEST, 0, "d.digest")

#define STORED_TRIAL_DEVICE(FIRST, NEXT, SHOW)                                                     \
    FIRST(id, INTEGER, 0, "d.id")                                                                  \
    SHOW(name, TEXT, NULLABLE, "d.name")                                                           \
    SHOW(digest, DIGEST, 0, "d.digest")

#define STORED_TRIAL(FIRST, NEXT, SHOW)                                                            \
    FIRST(sequence, INTEGER, 0, "t.sequence")                                                      \
    SHOW(id, INTEGER, 0, "t.id")                                                                   \
    NEXT(attempt, INTEGER, 0, "t.attempt")                                                         \
    NEXT(status, TEXT, 0, "coalesce(e.status, 'no_end')",                                          \
         .help = "the name of a status, or no_end")                                                \
    NEXT(message, TEXT, NULLABLE, "e.message")                                                     \
    SHOW(orphan, BOOLEAN, NULLABLE, "e.orphan", .help = "the harness ended before it")             \
    NEXT(started_utc_ns, INTEGER, 0, "t.started_utc_ns")                                           \
    SHOW(started, ISO, 0, "t.started_utc_ns")                                                      \
    NEXT(ended_utc_ns, INTEGER, NULLABLE, "e.ended_utc_ns")                                        \
    NEXT(iterations_per_sample, INTEGER, NULLABLE, "e.iterations_per_sample")                      \
    NEXT(window_first, INTEGER, NULLABLE, "e.window_first")                                        \
    NEXT(samples, INTEGER, NULLABLE, "e.samples")                                                  \
    NEXT(facts, JSON, NULLABLE, "e.facts", .choices = facts_choices,                              \
         .help = "what the workload reported of itself, and the harness saw")                      \
    NEXT(exit_code, INTEGER, NULLABLE, "e.exit_code")                                              \
    NEXT(signal, INTEGER, NULLABLE, "e.signal")                                                    \
    NEXT(max_rss_bytes, COUNT, NULLABLE, "e.max_rss_bytes")

#define STORED_PHASE(FIRST, NEXT, SHOW)                                                            \
    FIRST(name, TEXT, 0, "name")                                                                   \
    NEXT(begin_ns, COUNT, 0, "begin_ns", .help = "of the monotonic clock")                         \
    NEXT(end_ns, COUNT, NULLABLE, "end_ns")

/* The chunks of a series of samples. */
#define STORED_SERIES(FIRST, NEXT, SHOW)                                                           \
    FIRST(name, TEXT, 0, "name")                                                                   \
    SHOW(samples, INTEGER, 0, "sum(count)")                                                        \
    SHOW(minimum, COUNT, NULLABLE, "min(minimum)")                                                 \
    SHOW(maximum, COUNT, NULLABLE, "max(maximum)")                                                 \
    SHOW(chunks, INTEGER, 0, "count(*)")

#define STORED_CHECK(FIRST, NEXT, SHOW)                                                            \
    FIRST(phase, TEXT, 0, "phase")                                                                 \
    NEXT(output, TEXT, 0, "output")                                                                \
    NEXT(metric, TEXT, 0, "metric")                                                                \
    SHOW(error, COLUMN, NULLABLE, "coalesce(error, error_text)", .of = &number_or_text,            \
         .help = "text where it is no number: nan, inf")                                           \
    NEXT(tolerance, REAL, 0, "tolerance")                                                          \
    NEXT(compared, COUNT, NULLABLE, "compared")                                                    \
    NEXT(passed, BOOLEAN, 0, "passed")                                                             \
    NEXT(reason, TEXT, NULLABLE, "reason")

#define STORED_COMPONENT(FIRST, NEXT, SHOW)                                                        \
    FIRST(path, TEXT, NULLABLE, "c.path")                                                          \
    SHOW(at, TEXT, 0, "s.at")                                                                      \
    NEXT(kind, TEXT, NULLABLE, "c.kind")                                                           \
    NEXT(version, TEXT, NULLABLE, "c.version")                                                     \
    NEXT(build_id, TEXT, NULLABLE, "c.build_id")                                                   \
    NEXT(size, COUNT, NULLABLE, "c.size")                                                          \
    SHOW(sha256, DIGEST, NULLABLE, "c.sha256")                                                     \
    NEXT(missing_reason, TEXT, NULLABLE, "c.missing_reason")                                       \
    NEXT(package, TEXT, NULLABLE, "c.package")                                                     \
    NEXT(package_version, TEXT, NULLABLE, "c.package_version")                                     \
    SHOW(manager, TEXT, NULLABLE, "c.manager")

/* Its columns `readings_begin` and `readings_end` become "begin" and "end". */
#define STORED_TELEMETRY(FIRST, NEXT, SHOW)                                                        \
    FIRST(part, TEXT, 0, "t.part")                                                                 \
    SHOW(status, COLUMN, 0, "t.status", .of = &type_of_status)                                     \
    SHOW(message, TEXT, NULLABLE, "t.message")                                                     \
    SHOW(channels, VALUE, NULLABLE, "c.body", .of = &channels,                                     \
         .help = "an object where they were withheld")                                             \
    SHOW(interval_ns, COUNT, NULLABLE, "t.interval_ns")                                            \
    SHOW(ticks, INTEGER, NULLABLE, "t.ticks")                                                      \
    SHOW(late_ticks, INTEGER, NULLABLE, "t.late_ticks")                                            \
    SHOW(cpu_ns, COUNT, NULLABLE, "t.cpu_ns")                                                      \
    SHOW(reading_ns, COUNT, NULLABLE, "t.reading_ns")                                              \
    SHOW(dump, TEXT, NULLABLE, "t.dump")

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
    SHOW(author, TEXT, NULLABLE, "author")                                                         \
    SHOW(reason, TEXT, NULLABLE, "reason")

/* The file that another program's result came from. */
#define STORED_ORIGIN(FIRST, NEXT, SHOW)                                                           \
    FIRST(file, TEXT, NULLABLE, "i.file")                                                          \
    NEXT(sha256, DIGEST, NULLABLE, "i.sha256")                                                     \
    SHOW(size, COUNT, NULLABLE, "i.size")                                                          \
    SHOW(format, TEXT, NULLABLE, "i.format")                                                       \
    NEXT(program, TEXT, NULLABLE, "i.program")                                                     \
    NEXT(program_version, TEXT, NULLABLE, "i.program_version")                                     \
    SHOW(imported, ISO, 0, "g.created_utc_ns")

#define STORED_CELL(FIRST, NEXT, SHOW)                                                             \
    FIRST(ordinal, INTEGER, 0, "c.ordinal")                                                        \
    SHOW(id, TEXT, 0, RESULT_ID)                                                                   \
    SHOW(cell, INTEGER, 0, "c.id")                                                                 \
    NEXT(backend, TEXT, NULLABLE, "c.backend")                                                     \
    NEXT(device_spec, TEXT, NULLABLE, "c.device_spec")                                             \
    NEXT(device_index, INTEGER, NULLABLE, "c.device_index")                                        \
    NEXT(trials_planned, INTEGER, NULLABLE, "c.trials")                                            \
    NEXT(arm, TEXT, NULLABLE, ARM_NAME, .help = "a or b of an A/B")                                \
    SHOW(arm_settings, ANY, NULLABLE, ARM_SETTINGS, .help = "what the arm was given")              \
    SHOW(worker, ANY, NULLABLE, NAMED_WORKER,                                                      \
         .help = "the framework that measured; null: assay's own kernels")                         \
    SHOW(workload, JSON, NULLABLE, "w.body", .help = "its declaration")                            \
    SHOW(protocol, JSON, NULLABLE, "p.body", .help = "its declaration")

/* A row of `results` (store_list.c), and, but for its metrics, of the exports as CSV and Parquet. */
#define STORED_RESULT(FIRST, NEXT, SHOW)                                                           \
    FIRST(id, TEXT, 0, RESULT_ID)                                                                  \
    SHOW(cell, INTEGER, MEMBER_LOCAL, "c.id")                                                      \
    SHOW(campaign, INTEGER, MEMBER_LOCAL, "c.campaign")                                                       \
    SHOW(workload, TEXT, 0, "c.workload_name")                                                     \
    SHOW(kind, TEXT, NULLABLE, "c.kind")                                                           \
    SHOW(precision, TEXT, NULLABLE, "c.precision")                                                 \
    SHOW(batch, INTEGER, NULLABLE, "c.batch")                                                      \
    SHOW(scenario, TEXT, NULLABLE, "c.scenario")                                                   \
    SHOW(implementation, TEXT, NULLABLE, "c.implementation")                                       \
    SHOW(arm, TEXT, NULLABLE, ARM_NAME, .help = "a or b of an A/B")                                \
    SHOW(support, TEXT, NULLABLE, "json_extract(f.facts, '$.gemm.support')")                       \
    SHOW(library, TEXT, NULLABLE, "json_extract(f.facts, '$.gemm.library')")                       \
    SHOW(library_version, TEXT, NULLABLE, "json_extract(f.facts, '$.gemm.version')")               \
    SHOW(protocol, TEXT, NULLABLE, "c.protocol_name")                                              \
    SHOW(backend, TEXT, NULLABLE, "c.backend")                                                     \
    SHOW(device_spec, TEXT, NULLABLE, "c.device_spec")                                             \
    SHOW(device, TEXT, NULLABLE, "coalesce(d.name, json_extract(k.body, '$.device'))")             \
    SHOW(simulated, BOOLEAN, NULLABLE, "d.simulated")                                              \
    SHOW(trials_ok, INTEGER, 0, TRIALS_ENDED(" AND x.status = 'ok'"))                              \
    SHOW(trials_ended, INTEGER, 0, TRIALS_ENDED(""))                                               \
    SHOW(trials_planned, INTEGER, NULLABLE, "c.trials")                                            \
    SHOW(verdict, TEXT, NULLABLE,                                                                  \
         "coalesce(e.verdict, CASE WHEN k.cell IS NOT NULL THEN 'imported' END)")                  \
    SHOW(grade, TEXT, NULLABLE, HEADLINE("grade"))                                                 \
    SHOW(metric, TEXT, NULLABLE, SAID("headline"),                                                 \
         .help = "the headline: the metric that value, lo and hi are of")                          \
    SHOW(value, REAL, 0, HEADLINE("value"))                                                        \
    SHOW(lo, REAL, 0, HEADLINE("lo"))                                                              \
    SHOW(hi, REAL, 0, HEADLINE("hi"))                                                              \
    SHOW(unit, TEXT, NULLABLE, HEADLINE("unit"))                                                   \
    SHOW(metrics, VALUE, NULLABLE, SAID("metrics"), .of = &metrics_type)                           \
    SHOW(energy_source, TEXT, NULLABLE, SAID("energy_source"))                                     \
    SHOW(created_utc_ns, INTEGER, 0, "g.created_utc_ns")                                           \
    SHOW(created, ISO, 0, "g.created_utc_ns")                                                      \
    SHOW(workload_digest, DIGEST, NULLABLE, "lower(hex(c.workload))")                              \
    SHOW(protocol_digest, DIGEST, NULLABLE, "lower(hex(c.protocol))")                              \
    SHOW(driver_version, TEXT, NULLABLE, CONTEXT_DRIVER_VERSION)                                   \
    SHOW(host, TEXT, NULLABLE,                                                                     \
         CONTEXT_HOST("(SELECT max(t.id) FROM trial t WHERE t.cell = c.id)"))                      \
    SHOW(tool_version, TEXT, NULLABLE, "g.tool_version")                                           \
    SHOW(imported, TEXT, NULLABLE, "i.program",                                                    \
         .help = "the program whose result this is; null: assay's own")                            \
    SHOW(foreign_worker, TEXT, NULLABLE, FOREIGN_WORKER,                                           \
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

/*
 * Members of the struct STORED_STRUCT, which is to be defined, by the same names: text is borrowed,
 * integers are a struct of `known` and `value`. What is missing or of another type is not known.
 */
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

#endif
