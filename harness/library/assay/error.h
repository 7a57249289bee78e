/* error - how a call ended, and which library this is. Any thread. */
#ifndef ASSAY_ERROR_H
#define ASSAY_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

enum assay_status {
    ASSAY_OK,
    ASSAY_INVALID,       /* a declaration or argument is wrong */
    ASSAY_NOT_FOUND,     /* what was asked for does not exist */
    ASSAY_IO,            /* reading or writing failed */
    ASSAY_NO_SPACE,      /* the disk or a quota is full */
    ASSAY_NO_MEMORY,     /* the host is out of memory */
    ASSAY_BUSY,          /* somebody else holds it */
    ASSAY_DENIED,        /* permission is missing */
    ASSAY_UNAVAILABLE,   /* a library, device or counter is not here */
    ASSAY_UNSUPPORTED,   /* the device or library cannot do this */
    ASSAY_COMPILE,       /* a kernel does not compile */
    ASSAY_DEVICE,        /* a vendor call failed */
    ASSAY_DEVICE_LOST,   /* the device has gone or no longer answers */
    ASSAY_DEVICE_MEMORY, /* the device is out of memory */
    ASSAY_CHECK_FAILED,  /* an output does not match its reference */
    ASSAY_TIMEOUT,       /* it took longer than the protocol allows */
    ASSAY_CRASHED,       /* a process ended before it sent a result */
    ASSAY_INTERRUPTED,   /* the caller stopped it */
    ASSAY_CORRUPT,       /* stored or received data is damaged */
    ASSAY_PROTOCOL,      /* a worker broke its protocol */
    ASSAY_INTERNAL       /* a defect in assay */
};

/* Its name, which never changes ("not_found"); "unknown" of another number. Static. */
const char *assay_status_name(enum assay_status status);

/*
 * Of the last call of this thread that failed: what happened, where, and what to do; "": none did.
 * Until the thread's next call.
 */
const char *assay_error_message(void);
/* "FILE:LINE" of what is wrong in a file; "": it is in none. As the message. */
const char *assay_error_place(void);

/* "0.3.0 (1a2b3c4d5e6f)". Static. */
const char *assay_version(void);

/* Frees text that a function gave to the caller. NULL is allowed. */
void assay_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
