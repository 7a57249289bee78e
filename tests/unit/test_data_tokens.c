/* Token sources: repeatable, within range, and with the stated entropy. */
#include "workloads/data/tokens.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/unit.h"

TEST(markov_repeats)
{
    struct token_source *a = NULL, *b = NULL, *c = NULL;
    int32_t x[64], y[64], z[64], w[64];

    assert_int_equal(token_source_create_markov(257, 8, 1, &a, NULL), STATUS_OK);
    assert_int_equal(token_source_create_markov(257, 8, 1, &b, NULL), STATUS_OK);
    assert_int_equal(token_source_create_markov(257, 8, 2, &c, NULL), STATUS_OK);
    token_source_sequence(a, 9, 64, x, y);
    token_source_sequence(b, 3, 64, z, w); /* another one in between */
    token_source_sequence(b, 9, 64, z, w);
    assert_memory_equal(x, z, sizeof(x));
    assert_memory_equal(y, w, sizeof(y));
    assert_memory_equal(x + 1, y, sizeof(x) - sizeof(x[0])); /* targets are what follows */
    token_source_sequence(a, 10, 64, z, w);
    assert_memory_not_equal(x, z, sizeof(x));
    token_source_sequence(c, 9, 64, z, w);
    assert_memory_not_equal(x, z, sizeof(x));
    token_source_destroy(a);
    token_source_destroy(b);
    token_source_destroy(c);
}

/*
 * The plug-in estimate of H(next | this) over many tokens must meet the stated rate, and that of
 * H(this) the stated unigram entropy. Its bias is about (cells - 1) / (2 n) (Miller 1955): under
 * 0.001 here; the statistical error is of the order 1/sqrt(n) = 0.0007.
 */
TEST(markov_entropy)
{
    enum { V = 64, N = 2000000, LENGTH = 100 };
    struct token_source *source = NULL;
    static uint64_t pairs[V][V], counts[V], arrivals[V];
    struct token_facts facts;
    double rate = 0.0, unigram = 0.0;

    assert_int_equal(token_source_create_markov(V, 6, 7, &source, NULL), STATUS_OK);
    facts = token_source_facts(source);
    for (uint64_t s = 0; s < N / LENGTH; s++) {
        int32_t tokens[LENGTH], targets[LENGTH];

        token_source_sequence(source, s, LENGTH, tokens, targets);
        for (int t = 0; t < LENGTH; t++) {
            assert_in_range(tokens[t], 0, V - 1);
            pairs[tokens[t]][targets[t]]++;
            counts[tokens[t]]++;
            arrivals[targets[t]]++;
        }
    }
    for (int i = 0; i < V; i++) {
        double p = (double)counts[i] / N;

        unigram -= p > 0.0 ? p * log(p) : 0.0;
        for (int j = 0; j < V; j++)
            if (pairs[i][j])
                rate -= (double)pairs[i][j] / N * log((double)pairs[i][j] / (double)counts[i]);
        /* stationary: as many arrive as leave, within five standard errors */
        assert_true(fabs((double)arrivals[i] - (double)counts[i]) <
                    5.0 * sqrt(2.0 * (double)counts[i] + 1.0) + 5.0);
    }
    assert_true(facts.has_entropy_rate);
    assert_true(fabs(rate - facts.entropy_rate) < 0.005);
    assert_true(fabs(unigram - facts.unigram_entropy) < 0.005);
    assert_true(facts.entropy_rate < facts.unigram_entropy && facts.unigram_entropy < log(V));
    token_source_destroy(source);
}

TEST(markov_sizes)
{
    const uint64_t sizes[] = {2, 3, 50257};

    for (size_t i = 0; i < 3; i++) {
        struct token_source *source = NULL;
        int32_t tokens[300], targets[300];

        assert_int_equal(token_source_create_markov(sizes[i], 8, 1, &source, NULL), STATUS_OK);
        for (uint64_t s = 0; s < 50; s++) {
            token_source_sequence(source, s, 300, tokens, targets);
            for (int t = 0; t < 300; t++)
                assert_in_range(targets[t], 0, sizes[i] - 1);
        }
        token_source_destroy(source);
    }
    assert_int_equal(token_source_create_markov(1, 8, 1, NULL, NULL), STATUS_INVALID);
    assert_int_equal(token_source_create_markov(9, 0, 1, NULL, NULL), STATUS_INVALID);
}

TEST(text)
{
    char path[] = "/tmp/assay_text_XXXXXX";
    const char *content = "abcdefghij\xff\n";
    struct token_source *source = NULL;
    struct digest digest = digest_bytes(content, strlen(content)), other = {{1}};
    struct error err = ERROR_INIT;
    int32_t tokens[11], targets[11];
    bool places[12] = {false};
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    close(fd);
    assert_int_equal(token_source_create_text(path, 12, &digest, 1, &source, &err), STATUS_OK);
    token_source_sequence(source, 5, 11, tokens, targets);
    assert_int_equal(tokens[0], 'a');
    assert_int_equal(targets[9], 0xff);
    for (uint64_t s = 0; s < 1000; s++) {
        token_source_sequence(source, s, 4, tokens, targets);
        assert_memory_equal(tokens + 1, targets, 3 * sizeof(tokens[0]));
        places[strchr(content, tokens[0]) - content] = true;
    }
    for (int i = 0; i < 12; i++)
        assert_int_equal(places[i], i < 8); /* the last byte is only ever a target */
    assert_true(digest_equal(&digest, &(struct digest){0}) == false);
    assert_int_equal(token_source_facts(source).bytes, 12);
    assert_false(token_source_facts(source).has_entropy_rate);
    token_source_destroy(source);
    assert_int_equal(token_source_create_text(path, 13, NULL, 1, &source, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "12 bytes"));
    assert_int_equal(token_source_create_text(path, 12, &other, 1, &source, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "SHA-256"));
    unlink(path);
    assert_int_equal(token_source_create_text(path, 12, NULL, 1, &source, &err), STATUS_NOT_FOUND);
}
