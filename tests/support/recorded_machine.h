/* recorded_machine - a machine of tests/data/machines, unpacked so that its files can be read. */
#ifndef ASSAY_TESTS_RECORDED_MACHINE_H
#define ASSAY_TESTS_RECORDED_MACHINE_H

/*
 * Unpacks `name` ("laptop") into a new folder and sets ASSAY_HOST_ROOT to it; fails the test when
 * it cannot. recorded_machine_path gives a file in it; recorded_machine_write makes or changes one.
 * recorded_machine_remove deletes the folder and unsets the variable.
 */
void recorded_machine_use(const char *name);
const char *recorded_machine_path(const char *path);
void recorded_machine_write(const char *path, const char *content);
void recorded_machine_remove(void);

#endif
