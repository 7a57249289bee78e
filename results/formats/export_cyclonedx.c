/*
 * The stack of a result as CycloneDX 1.6 (ECMA-424, JSON): a component for every file that its
 * workers had mapped, with hash and build-id, the device and its driver, the operating system. The
 * BOM is about the measured workload (metadata.component), which depends on all of them. The same
 * stored result gives the same bytes: the serial number is derived from the result's id and the
 * files' hashes, and the time is the campaign's.
 */
#include "results/formats/export.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/digest.h"
#include "harness/core/file.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "protocols/finding.h"

struct bom {
    json_t *components, *references; /* arrays: of components, of their bom-refs */
    json_t *seen;                    /* object: bom-ref to component */
    const char *system;              /* "Debian GNU/Linux 12 (bookworm)"; NULL: unknown */
    bool failed;
};

/* Appends {"name", "value"} to component.properties; NULL values are unknown and left out. */
static void add_property(struct bom *bom, json_t *component, const char *name, const char *value)
{
    json_t *properties = json_object_get(component, "properties");

    if (!value)
        return;
    if (!properties) {
        properties = json_array();
        bom->failed |= json_object_set_new(component, "properties", properties) < 0;
    }
    bom->failed |= json_array_append_new(properties,
                                         json_pack("{s:s, s:s}", "name", name, "value", value)) < 0;
}

static void add_number(struct bom *bom, json_t *component, const char *name, const json_t *value)
{
    AUTO_FREE char *text =
        json_is_integer(value) ? text_format("%lld", (long long)json_integer_value(value)) : NULL;

    add_property(bom, component, name, text);
}

static void set_text(struct bom *bom, json_t *object, const char *key, const char *value)
{
    if (value && *value)
        bom->failed |= json_object_set_new(object, key, json_string(value)) < 0;
}

/* Takes the component; a second of the same reference is dropped. */
static json_t *add_component(struct bom *bom, json_t *component, const char *reference)
{
    if (!component || !reference) {
        json_decref(component);
        bom->failed = true;
        return NULL;
    }
    set_text(bom, component, "bom-ref", reference);
    bom->failed |= json_object_set(bom->seen, reference, component) < 0;
    bom->failed |= json_array_append_new(bom->references, json_string(reference)) < 0;
    bom->failed |= json_array_append(bom->components, component) < 0;
    json_decref(component);
    return bom->failed ? NULL : component;
}

/* A compiler's headers and bitcode are no programs; an ICD file is a line of text. */
static const char *component_type(const char *kind, const char *path)
{
    static const struct {
        const char *kind, *type;
    } types[] = {{"library", "library"},
                 {"executable", "application"},
                 {"compiler", "application"},
                 {"driver", "device-driver"},
                 {"firmware", "firmware"}};
    const char *end = path ? strrchr(path, '.') : NULL;

    if (end && kind && !strcmp(kind, "compiler") && (!strcmp(end, ".h") || !strcmp(end, ".bc")))
        return "file";

    for (size_t i = 0; kind && i < sizeof(types) / sizeof(types[0]); i++)
        if (!strcmp(types[i].kind, kind))
            return types[i].type;
    return "file";
}

/* Percent-encodes what a package URL's name, version or qualifier may not hold as it is. */
static void append_encoded(struct text *out, const char *value)
{
    for (const char *c = value; *c; c++) {
        if (isalnum((unsigned char)*c) || strchr("-._~", *c))
            text_append_char(out, *c);
        else
            text_append_format(out, "%%%02X", (unsigned char)*c);
    }
}

/* The part of a package URL before the name, by package manager and the system's name. */
static const char *package_namespace(const char *manager, const char *system)
{
    static const struct {
        const char *manager, *system, *namespace;
    } known[] = {{"dpkg", "Debian", "deb/debian"},    {"dpkg", "Ubuntu", "deb/ubuntu"},
                 {"rpm", "Fedora", "rpm/fedora"},     {"rpm", "Red Hat", "rpm/redhat"},
                 {"rpm", "openSUSE", "rpm/opensuse"}, {"rpm", "CentOS", "rpm/centos"},
                 {"rpm", "Rocky", "rpm/rocky"},       {"rpm", "AlmaLinux", "rpm/almalinux"},
                 {"pacman", "Arch", "alpm/arch"},     {"apk", "Alpine", "apk/alpine"}};

    for (size_t i = 0; manager && system && i < sizeof(known) / sizeof(known[0]); i++)
        if (!strcmp(known[i].manager, manager) && strstr(system, known[i].system))
            return known[i].namespace;
    return NULL;
}

/*
 * pkg:deb/debian/libc6@2.36-9?arch=amd64, heap; NULL where the package or its distribution is not
 * known. A package has its architecture in its name: "libc6:amd64".
 */
static char *package_url(const json_t *file, const char *system)
{
    const char *package = member_string(file, "package");
    const char *version = member_string(file, "package_version");
    const char *namespace = package_namespace(member_string(file, "manager"), system);
    const char *colon = package ? strchr(package, ':') : NULL;
    struct text url = TEXT_INIT;
    AUTO_FREE char *name = NULL;

    if (!package || !*package || !namespace)
        return NULL;
    name = colon ? strndup(package, (size_t)(colon - package)) : strdup(package);
    if (!name)
        return NULL;
    text_append_format(&url, "pkg:%s/", namespace);
    append_encoded(&url, name);
    if (version) {
        text_append_char(&url, '@');
        append_encoded(&url, version);
    }
    if (colon && colon[1]) {
        text_append(&url, "?arch=");
        append_encoded(&url, colon + 1);
    }
    return text_steal(&url);
}

/* One mapped file. What differs in path or content is another component. */
static void add_file(struct bom *bom, const json_t *file)
{
    const char *path = member_string(file, "path"), *sha256 = member_string(file, "sha256");
    const char *kind = member_string(file, "kind"), *at = member_string(file, "at");
    AUTO_FREE char *reference =
        text_format("file:%s#%s", path ? path : "", sha256 ? sha256 : "unread");
    AUTO_FREE char *url = NULL;
    json_t *component = reference ? json_object_get(bom->seen, reference) : NULL;

    if (component) {
        add_property(bom, component, "assay:mapped", at);
        return;
    }
    component = add_component(bom,
                              json_pack("{s:s, s:s}", "type", component_type(kind, path), "name",
                                        path ? file_base_name(path) : "unknown"),
                              reference);
    if (!component)
        return;
    url = package_url(file, bom->system);
    set_text(bom, component, "version", member_string(file, "version"));
    set_text(bom, component, "purl", url);
    if (sha256)
        bom->failed |=
            json_object_set_new(component, "hashes",
                                json_pack("[{s:s, s:s}]", "alg", "SHA-256", "content", sha256)) < 0;
    add_property(bom, component, "assay:package", member_string(file, "package"));
    add_property(bom, component, "assay:path", path);
    add_property(bom, component, "assay:kind", kind);
    add_property(bom, component, "assay:build-id", member_string(file, "build_id"));
    add_number(bom, component, "assay:size", json_object_get(file, "size"));
    add_property(bom, component, "assay:no-hash-because", member_string(file, "missing_reason"));
    add_property(bom, component, "assay:mapped", at);
}

static void add_files(struct bom *bom, const json_t *record)
{
    EACH(trial, json_object_get(record, "trials")) {
        EACH(file, json_object_get(trial, "components")) {
            const char *path = member_string(file, "path"), *at = member_string(file, "at");
            const char *sha256 = member_string(file, "sha256");
            char *key = text_format("%s#%s#%s", path, sha256 ? sha256 : "", at);

            /* Every trial reports the same files again. */
            if (key && json_object_get(bom->seen, key)) {
                free(key);
                continue;
            }
            bom->failed |= !key || json_object_set_new(bom->seen, key, json_true()) < 0;
            free(key);
            add_file(bom, file);
        }
    }
}

static void add_device(struct bom *bom, const json_t *record)
{
    const json_t *device = json_object_get(record, "device");
    const json_t *readings = json_object_get(device, "readings");
    const char *name = member_string(device, "name"), *vendor = member_string(device, "vendor");
    const char *driver = export_reading(readings, "device.driver_version");
    const char *backend = member_string(device, "backend"), *key;
    json_t *component, *reading;
    AUTO_FREE char *title = NULL;

    if (!name)
        return;
    component =
        add_component(bom, json_pack("{s:s, s:s}", "type", "device", "name", name), "device");
    if (!component)
        return;
    if (vendor && *vendor)
        bom->failed |=
            json_object_set_new(component, "manufacturer", json_pack("{s:s}", "name", vendor)) < 0;
    add_property(bom, component, "assay:uuid", member_string(device, "uuid"));
    add_property(bom, component, "assay:type", member_string(device, "type"));
    add_property(bom, component, "assay:simulated",
                 member_is_true(device, "simulated") ? "true" : "false");
    json_object_foreach((json_t *)readings, key, reading)
    {
        AUTO_FREE char *label = text_format("assay:reading:%s", key);
        const json_t *value = json_object_get(reading, "value");
        AUTO_FREE char *text = json_is_string(value)   ? text_format("%s", json_string_value(value))
                               : json_is_number(value) ? json_dumps(value, JSON_ENCODE_ANY)
                                                       : NULL;

        if (label)
            add_property(bom, component, label, text);
        bom->failed |= !label;
    }
    if (!driver)
        return;
    title = text_format("%s driver of %s", backend ? backend : "device", name);
    component = add_component(bom,
                              title ? json_pack("{s:s, s:s, s:s}", "type", "device-driver", "name",
                                                title, "version", driver)
                                    : NULL,
                              "driver");
}

static void add_system(struct bom *bom, const json_t *record)
{
    const json_t *first = json_array_get(json_object_get(record, "trials"), 0);
    const json_t *host = member_in(first, "environment", "host");
    const char *name = export_reading(host, "host.os");
    const char *kernel = export_reading(host, "host.kernel.release");
    json_t *component;

    if (!name)
        return;
    bom->system = name;
    component = add_component(
        bom, json_pack("{s:s, s:s}", "type", "operating-system", "name", name), "system");
    if (component)
        add_property(bom, component, "assay:kernel", kernel);
}

/* Version 8 of RFC 9562: bits of our own choice, here of a SHA-256. */
static void serial_number(const char *urn, const json_t *references, char ret[46])
{
    struct text all = TEXT_INIT;
    struct digest digest;

    text_append_format(&all, "cyclonedx %s\n", urn);
    EACH(reference, references)
        text_append_format(&all, "%s\n", json_string_value(reference));
    digest = digest_bytes(all.data, all.length);
    text_finish(&all);
    digest.bytes[6] = (uint8_t)((digest.bytes[6] & 0x0f) | 0x80);
    digest.bytes[8] = (uint8_t)((digest.bytes[8] & 0x3f) | 0x80);
    strcpy(ret, "urn:uuid:");
    for (size_t k = 0, at = 9; k < 16; k++) {
        if (k == 4 || k == 6 || k == 8 || k == 10)
            ret[at++] = '-';
        snprintf(ret + at, 46 - at, "%02x", digest.bytes[k]);
        at += 2;
    }
}

/* `row`: of store_list_results. */
static json_t *make_subject(struct bom *bom, const json_t *record, const json_t *row,
                            const char *urn)
{
    static const char *const names[] = {
        "workload",  "workload_digest", "protocol",       "protocol_digest",
        "precision", "scenario",        "implementation", "seed"};
    const json_t *identity = json_object_get(record, "identity");
    const json_t *declared = json_object_get(record, "workload");
    const char *name = member_string(identity, "workload");
    json_t *version = json_object_get(declared, "version"), *codes;
    json_t *subject = json_pack("{s:s, s:s, s:s}", "type", "application", "name",
                                name ? name : "unknown", "bom-ref", urn);

    if (!subject)
        return NULL;
    if (json_is_integer(version)) {
        AUTO_FREE char *text = text_format("%lld", (long long)json_integer_value(version));

        set_text(bom, subject, "version", text);
    }
    set_text(bom, subject, "description", member_string(declared, "description"));
    add_property(bom, subject, "assay:result", member_string(record, "id"));
    add_property(bom, subject, "assay:campaign",
                 member_string(json_object_get(record, "campaign"), "uid"));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        AUTO_FREE char *label = text_format("assay:%s", names[i]);

        if (label)
            add_property(bom, subject, label, member_string(identity, names[i]));
        bom->failed |= !label;
    }
    add_number(bom, subject, "assay:batch", json_object_get(identity, "batch"));
    add_property(bom, subject, "assay:device", member_string(record, "device_spec"));
    add_property(bom, subject, "assay:verdict",
                 member_string(json_object_get(record, "estimate"), "verdict"));
    if (json_is_object(json_object_get(record, "imported")))
        add_property(bom, subject, "assay:imported", "true");
    add_property(bom, subject, "assay:foreign-worker", member_string(row, "foreign_worker"));
    codes = findings_codes(json_object_get(row, "findings"));
    bom->failed |= !codes;
    EACH(code, codes)
        add_property(bom, subject, "assay:finding", json_string_value(code));
    json_decref(codes);
    return subject;
}

static json_t *make_tool(const json_t *campaign)
{
    const char *version = member_string(campaign, "tool_version");
    const char *digest = member_string(campaign, "tool_digest");

    return json_pack("{s:[{s:s, s:s, s:s, s:[{s:s, s:s}]}]}", "components", "type", "application",
                     "name", "assay", "version", version ? version : "unknown", "hashes", "alg",
                     "SHA-256", "content", digest ? digest : "");
}

/* Takes `subject`; new object. */
static json_t *make_bom(struct bom *bom, const json_t *record, json_t *subject, const char *urn)
{
    const json_t *campaign = json_object_get(record, "campaign");
    const char *created = member_string(campaign, "created");
    json_t *dependencies = json_array();
    char serial[46];

    serial_number(urn, bom->references, serial);
    json_array_append_new(dependencies,
                          json_pack("{s:s, s:O}", "ref", urn, "dependsOn", bom->references));
    EACH(reference, bom->references)
        json_array_append_new(dependencies, json_pack("{s:O}", "ref", reference));
    return json_pack("{s:s, s:s, s:s, s:i, s:{s:s, s:o, s:o}, s:O, s:o}", "bomFormat", "CycloneDX",
                     "specVersion", "1.6", "serialNumber", serial, "version", 1, "metadata",
                     "timestamp", created ? created : "1970-01-01T00:00:00Z", "tools",
                     make_tool(campaign), "component", subject, "components", bom->components,
                     "dependencies", dependencies);
}

enum status export_cyclonedx(struct store *store, const struct export_request *request, FILE *file,
                             struct error *err)
{
    struct bom bom = {json_array(), json_array(), json_object(), NULL, false};
    json_auto_t *record = NULL, *rows = NULL;
    json_t *json = NULL;
    AUTO_FREE char *urn = NULL;
    enum status status = store_cell_json(store, request->cells[0], &record, err);

    if (status == STATUS_OK)
        status = export_rows(store, request, &rows, err);
    bom.failed = !bom.components || !bom.references || !bom.seen;
    if (status == STATUS_OK) {
        urn = export_result_urn(record);
        if (urn && !bom.failed) {
            add_device(&bom, record);
            add_system(&bom, record);
            add_files(&bom, record);
            json = make_bom(&bom, record, make_subject(&bom, record, json_array_get(rows, 0), urn),
                            urn);
        }
        if (bom.failed) {
            json_decref(json);
            json = NULL;
        }
        status = export_put_json(json, JSON_INDENT(2), file, err);
    }
    json_decref(bom.components);
    json_decref(bom.references);
    json_decref(bom.seen);
    return status;
}
