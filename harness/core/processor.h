/* processor - what a processor is called, by the content of /proc/cpuinfo. */
#ifndef ASSAY_CORE_PROCESSOR_H
#define ASSAY_CORE_PROCESSOR_H

/*
 * "AMD EPYC 9654 96-Core Processor", as the kernel reports it; on Arm, where it reports numbers
 * alone, their names: "Arm Neoverse-V2 r0p0", or "Arm part 0xd99 r1p0" for one that is not known
 * here. Heap; NULL when the text has neither, or out of memory.
 */
char *processor_name(const char *cpuinfo);

/* "AuthenticAMD"; on Arm the designer: "Arm", "NVIDIA". Heap; NULL as above. */
char *processor_vendor(const char *cpuinfo);

/*
 * Heap copy of what follows the colon of the first line "KEY<blanks>: ...", unprintable bytes
 * escaped; NULL when there is none, or out of memory.
 */
char *processor_line(const char *cpuinfo, const char *key);

#endif
