/* data_seed - the seed of a cell's generated data. */
#ifndef ASSAY_PROTOCOLS_DATA_SEED_H
#define ASSAY_PROTOCOLS_DATA_SEED_H

#include <stdint.h>

/*
 * The protocol's own seed without a nonce (NULL); with one, what nobody can have known before the
 * nonce: the first eight bytes, big-endian, of SHA-256 over "assay-seed/1", a newline, the
 * protocol's seed in decimal, a newline, and the nonce.
 */
uint64_t data_seed(uint64_t declared, const char *nonce);

#endif
