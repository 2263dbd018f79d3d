/** Why a goal of a scenario, or of one contender in it, is missed: from profiles. */
export const WHY: Readonly<Record<string, string>> = {
  'memory, redis':
    '89 bytes are of Redis, whatever the record is (two table entries of 24 and their places of 17, of which the expiry takes half; 16 of an object, 8 of headers); the key has 30 and the record 28 characters, each rounded up to a size of the allocator. Bytes in place of base64url would save 16, and nobody could read them',
  'memory, postgres':
    'a row is 93 bytes (28 of them header and pointer, 34 the key and the digest) and its entry in the index 40, in pages that are three quarters full because keys come in no order',
  'start, kafka-redis':
    'some 20 requests that the client alone does not make: topics, their settings, offsets of the group and bounds of the partitions, and the store is tried out. One start makes them in 20 to 30 ms, and in the 3 s that a broker waits by default for more members of an empty group (group.initial.rebalance.delay.ms, 0 here) that is nothing',
  'start, kafka-postgres': 'as with Redis; the store is opened in 14 statements, and a claim is tried and rolled back',
  'start, rabbitmq-redis': 'the store is opened and tried out before the queue is consumed',
  'cpu, batches':
    'of 5 us two SHA-256 are 1.1 to 1.9, records of the memory store 1, garbage 1. What is left is spread over some twenty calls for each message',
  'kafka, redis':
    'as much CPU as the loop, and Redis takes 6.5 to 8 us for two scripts, 3.5 to 5 for `SET NX` and `SET`. At most 64 or 256 messages are in doubt, half of them at Redis while the others are handled, so each half waits for the other now and then; the loop keeps 4,000 at Redis, and repeats more than a thousand effects after a crash',
  'kafka, redis-each':
    'beside loops that ask Redis message by message: on loopback a question takes 0.1 ms and eight partitions ask at once. 20,000 messages end before the compiler is done with the code of either',
  'kafka, postgres-batch':
    'most is Postgres: keys are digests, which come in no order (by hand IDs that follow each other), attempts are counted, and earlier ones looked for. The client takes 23.8 us, by hand 9.4. The loop over the bare store is as quick as this',
  'kafka, postgres-handle':
    'both wait for the statement of each handler in turn, which is most of it; the rest as with `handleBatch`',
  'kafka, postgres-handle: postgresInbox, flush ticker':
    'a COMMIT is 3 ms of the 53 that 100 statements take on this disk, and a ticker has its own price. It is for servers whose flush is slow',
  'kafka, postgres-each':
    'a COMMIT by hand is flushed in under a millisecond on this disk; where a flush takes longer the ratio grows',
  'replay, redis':
    '0.8 would leave 6.6 us for each message, digests included. Found: garbage 1.7, two SHA-256 and the identity 1.6, kafkajs 1.1, the compiler 1.1, Redis client 0.8, the rest of the pipeline 0.8, taking and settling 0.7',
  'replay, ten-million':
    'it does not grow: 451 MB after the first million, 441 after the tenth, of which 47 are heap after a garbage collection. What the rest is was not profiled: buffers of fetched records, and the batches of 500 that are cut from them',
  'redis, in-flight':
    'one message in flight at a time waits for two round trips, here as by hand; with more it claims in batches, and makes a turn of the event loop first',
  'postgres, each':
    'a claim counts an attempt in a COMMIT of its own before the transaction begins, in one message with it, and looks for earlier attempts: 1.1 ms of CPU of the backend on a busy machine, beside 0.2 for a bare INSERT: the attempt and its COMMIT 0.2, limits and settings of the two transactions 0.15, the rows 0.2, the look for earlier attempts 0.3, savepoint, removal of the attempt and COMMIT the rest, most of it parsing and planning. A transaction of 500 pays that once',
  'postgres, duplicates':
    'the store reads what a settle needs (outcome, digest, result, when), and compares the digests of payloads; the bare statement asks for keys',
  'growth, postgres':
    'keys are digests, which come in no order: each insert needs another page of the index, and 500 MB of it do not fit into shared_buffers of 128 MB (the default). With 3 GB hardly any page is read; the index still has a level more. Keys in order would save 10 us of 16 a row (rows inserted by SQL alone, among 10 million), and could not be found again by the ID of a redelivery. Among 100,000 the difference is that of the machine: the CPU of the client grew as much',
  'growth, mariadb':
    'as with Postgres, and here the row itself lies where its key sorts it: 10 million do not fit into innodb_buffer_pool_size of 128 MB (the default), and each message reads a page and writes one. With 3 GB it is 0.95 of the rate among 10,000, and 1.08 times the CPU of the server. Among fewer rows the difference is that of the machine, which was busier from run to run: the CPU of the client, which no number of rows can change, grew as much',
  'traces, kafka-redis':
    'a sampler is asked for each message, and each handler runs in a context of its own: 7 us of 40 before the work on garbage',
  'traces, kafka-postgres':
    'spans for one message of a hundred, and a context for each handler: within the ranges of the goal',
  'metrics, kafka-postgres':
    'the events of a message are made only where somebody listens: 2 us in memory, more where a broker has emptied the caches',
  'metrics, rabbitmq-redis': 'as on Kafka: an event for each message that is made only where somebody listens',
  'schemes, identities':
    'each identity is a key of its own: a digest, a place in the single flight, a record. Twice of all that is 1.5 of one',
  'schemes, observe':
    'each message runs, and its record is written beside it: twice the calls of a handler that only waits',
  'latency, kafka-redis-10':
    'tenths of a millisecond: two scripts in place of `SET NX` and `SET`, a turn of the event loop that gathers what came together, and more code in a process that is idle in between; the client works for its next fetch meanwhile, which the loop by hand begins only after its messages',
  'latency, kafka-redis-100':
    'tenths of a millisecond: two scripts in place of `SET NX` and `SET`, a turn of the event loop that gathers what came together, and more code in a process that is idle in between; the client works for its next fetch meanwhile, which the loop by hand begins only after its messages',
  'latency, kafka-redis-1000':
    'tenths of a millisecond: two scripts in place of `SET NX` and `SET`, a turn of the event loop that gathers what came together, and more code in a process that is idle in between; the client works for its next fetch meanwhile, which the loop by hand begins only after its messages',
  'latency, kafka-postgres-10':
    '2 to 3 ms: the claim counts its attempt in a COMMIT of its own and looks for earlier ones (`postgres, each`)',
  'latency, kafka-postgres-100':
    '2 to 3 ms: the claim counts its attempt in a COMMIT of its own and looks for earlier ones (`postgres, each`)',
  'latency, kafka-postgres-1000':
    '2 to 3 ms: the claim counts its attempt in a COMMIT of its own and looks for earlier ones (`postgres, each`); what came together shares a transaction, and waits for the last handler of it; two cores that broker, Postgres and consumer share are nearly full at that rate; two cores that broker, Postgres and consumer share are nearly full at that rate',
  'latency, rabbitmq-redis-10':
    'tenths of a millisecond: two scripts in place of `SET NX` and `SET`, a turn of the event loop that gathers what came together, and more code in a process that is idle in between',
  'latency, rabbitmq-redis-100':
    'tenths of a millisecond: two scripts in place of `SET NX` and `SET`, a turn of the event loop that gathers what came together, and more code in a process that is idle in between',
  'latency, rabbitmq-redis-1000':
    'tenths of a millisecond: two scripts in place of `SET NX` and `SET`, a turn of the event loop that gathers what came together, and more code in a process that is idle in between',
  'latency, rabbitmq-postgres-10':
    '2 to 3 ms: the claim counts its attempt in a COMMIT of its own and looks for earlier ones (`postgres, each`)',
  'latency, rabbitmq-postgres-100':
    '2 to 3 ms: the claim counts its attempt in a COMMIT of its own and looks for earlier ones (`postgres, each`)',
  'latency, rabbitmq-postgres-1000':
    '2 to 3 ms: the claim counts its attempt in a COMMIT of its own and looks for earlier ones (`postgres, each`); what came together shares a transaction, and waits for the last handler of it; two cores that broker, Postgres and consumer share are nearly full at that rate; two cores that broker, Postgres and consumer share are nearly full at that rate',
}
