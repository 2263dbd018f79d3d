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
  'start, joins':
    'tens of milliseconds: a partition that moves is compared with the last message before it, by one more fetch',
  'start, leaves':
    'tens of milliseconds: what is handled is committed, then the member leaves; the rest is as of a join',
}
