import type { ListedItem } from '../../lab/proof/listed-tests.ts'

/** What must not be possible, or must be, and the tests that show it. */
export const SECURITY: readonly ListedItem[] = [
  {
    item: 'A key is a digest of length-prefixed (scope, ID), 128 bits of SHA-256 and never fewer; nothing that answers by chance',
    tests: [
      ['test/unit/core/key.test.ts', 'can be read back, so that no two (scope, ID) share a key'],
      [
        'test/unit/core/key.test.ts',
        'makes keys and digests of 128 bits, so that their bytes and their text tell the same',
      ],
      ['test/unit/core/key.test.ts', 'has not changed'],
      ['testing/contract/store/common-laws.ts', 'tells keys apart by every character'],
      ['test/stores/lru-cache.test.ts', 'leaves another payload to the store'],
    ],
    but: 'Two IDs that somebody found to share 128 bits are a conflict, dead-lettered, unless their payloads are equal too.',
  },
  {
    item: 'Dedup is not authentication; an ID can be bound to a secret by HMAC, and one that is not is no ID',
    tests: [
      ['test/security/signed-id.test.ts', 'is taken with its signature as %s, by the old secret and by the new'],
      ['test/security/signed-id.test.ts', 'is not taken with %s: dead-lettered as no-id, and the ID is not burnt'],
    ],
    but: 'The ID is signed, not the payload: who has read a signed ID can send it again.',
  },
  {
    item: 'Scripts and SQL take values as values only',
    tests: [
      ['test/security/hostile-values.test.ts', 'is a value and nothing else'],
      ['test/security/hostile-values.test.ts', 'is letters, digits and hexadecimal only, whatever the value'],
    ],
    but: 'Statements that a server takes several of at once have no parameters: their values are written in hexadecimal.',
  },
  {
    item: 'Identifiers match ^[a-z_][a-z0-9_]{0,62}$ and are quoted',
    tests: [
      ['test/security/hostile-values.test.ts', 'is refused where it is none: %j'],
      ['test/security/hostile-values.test.ts', 'is refused by MariaDB and MySQL where it is none: %j'],
      ['test/security/hostile-values.test.ts', 'is quoted wherever it stands'],
      ['test/pg/schema.test.ts', 'takes a name of 63 characters'],
    ],
    but: 'A database of MariaDB or MySQL, which the user has named already, may have capitals and hyphens.',
  },
  {
    item: 'No pattern of a user is run on an ID: IDs are compared as bytes',
    tests: [
      ['test/unit/core/message-id.test.ts', 'takes bytes as they are, valid UTF-8 or not'],
      ['test/security/lists.test.ts', 'no option takes a pattern'],
    ],
  },
  {
    item: 'Headers and payloads of strangers change no object but their own, and no option',
    tests: [
      ['test/security/pollution.test.ts', 'changes no object but its own: %s'],
      ['test/security/pollution.test.ts', 'has no options: neither payload nor headers are merged into them'],
      ['test/security/pollution.test.ts', 'has no ID but its own: none that its headers inherit'],
      [
        'test/security/pollution.test.ts',
        'of RabbitMQ keeps a header named __proto__, and nothing that it would inherit',
      ],
      ['test/security/pollution.test.ts', 'of Kafka keeps a header named __proto__, and nothing that it would inherit'],
      ['test/kafka/source.test.ts', 'delivers messages as they are, with lane, position and origin'],
    ],
  },
  {
    item: 'Payload and ID are never in logs, events, health, copies’ headers or records',
    tests: [
      ['test/security/canary.test.ts', 'nothing of payload, ID or address is told ($strategy, $handler):'],
      ['test/security/canary.test.ts', 'nothing of payload, ID or address is told, under a lease:'],
      [
        'test/security/canary.test.ts',
        'nothing of payload, ID or address is told where something is remembered, or purged:',
      ],
      ['test/security/canary.test.ts', 'each kind of event that can tell something of a message was listened to'],
      [
        'test/security/at-rest.test.ts',
        'holds nothing of payload and ID, whatever became of a message and was decided about it',
      ],
    ],
    but: 'The command-line tool repeats the ID that it was asked for. An observer gets message and error as they are.',
  },
  {
    item: 'Passwords of addresses and of clients are never in errors, their causes, events, health, logs or what the tool prints',
    tests: [
      ['test/security/addresses.test.ts', 'an error holds no password of an address:'],
      ['test/security/refusals.test.ts', 'no password is told by a lease whose Redis refuses:'],
      ['test/security/refusals.test.ts', 'no password is told by a store whose Postgres refuses:'],
      ['test/security/refusals.test.ts', 'no password is told by a store whose MariaDB refuses:'],
      ['test/security/refusals.test.ts', 'no password is told by runRabbit where RabbitMQ refuses:'],
      ['test/security/refusals.test.ts', 'no password is told by runKafka where Kafka refuses:'],
      [
        'test/unit/pipeline/errors.test.ts',
        'of clients and servers tell name, message, code and frames of their cause, and nothing that the client was given',
      ],
      ['test/security/redact.test.ts', 'its password: %s'],
      ['test/cli/redis.test.ts', 'exits with 4 where the server is not there, and tells no secret'],
      ['test/cli/usage.test.ts', '%s: exit 4, and no secret is told'],
      ['test/cli/usage.test.ts', 'exits with 4 where a store is %s, and tells no secret'],
    ],
  },
  {
    item: 'Error messages of handlers are cut, and what they repeat of their message is taken out',
    tests: [
      ['test/security/redact.test.ts', 'what an error says of its message is told without'],
      ['test/security/redact.test.ts', 'never holds a planted word of the message, wherever the handler puts it'],
      ['test/security/redact.test.ts', 'keeps each sentence of the library, whatever the message holds'],
      [
        'test/unit/pipeline/log.test.ts',
        'has no more than ten frames, and nothing of a long message but its beginning',
      ],
      ['test/unit/pipeline/log.test.ts', 'has its class, message, code and frames'],
    ],
    but: 'Plain words pass, also where they are a name.',
  },
  {
    item: 'Keys for providers are 43 characters of base64url, a digest, the same in every attempt',
    tests: [
      ['test/security/lists.test.ts', 'a key for a provider is 43 characters that hold nothing of the ID'],
      ['test/unit/core/key.test.ts', 'has not changed'],
    ],
    but: 'A digest is no secret: who knows scope and phone number can compute it.',
  },
  {
    item: 'Results are kept where asked for, capped, with the mark, and sealed where asked for',
    tests: [
      [
        'test/security/at-rest.test.ts',
        'holds results and failures where that was asked for, and nothing of them where they are sealed',
      ],
      ['test/unit/pipeline/results.test.ts', 'is kept at the cap'],
      [
        'testing/contract/store/lease-retention-laws.ts',
        'forgets what is done or given up with its retention, and starts again at the first fence',
      ],
      [
        'test/security/sealed-results.test.ts',
        'the store is told nothing that can be read, and duplicates are told what happened',
      ],
      [
        'test/security/sealed-results.test.ts',
        'a duplicate that cannot be opened is settled, and told so: another secret, none, or one that was taken away',
      ],
      [
        'test/security/sealed-results.test.ts',
        'what two records keep cannot be exchanged, by the key that is bound to it',
      ],
    ],
  },
  {
    item: 'TLS options are the client’s, untouched',
    tests: [
      ['test/security/tls.test.ts', 'amqplib, dialled by its URL'],
      ['test/security/tls.test.ts', 'amqplib, dialled by a function of the user, with its options'],
      ['test/security/tls.test.ts', 'kafkajs, with the options of its client'],
    ],
    but: 'Stores take a client or pool that is connected by the user: they open no connection.',
  },
  {
    item: 'No dashboard and no listening port; each decision of a person is confirmed, and written down',
    tests: [
      ['test/security/lists.test.ts', 'nothing of the package listens'],
      ['lab/cli/records.test.ts', 'is refused with 3, after the preview, where nobody can confirm'],
      [
        'test/security/at-rest.test.ts',
        'holds nothing of payload and ID, whatever became of a message and was decided about it',
      ],
    ],
  },
  {
    item: 'A store that is down stops consumption: there is no fail-open',
    tests: [
      [
        'test/unit/pipeline/ambiguity.test.ts',
        'pauses the source, is told once, and nothing is lost when it comes back by itself',
      ],
      [
        'test/unit/pipeline/ambiguity.test.ts',
        'starts no handler, and keeps what its handlers did until it can be marked',
      ],
      ['test/security/lists.test.ts', 'to run unprotected is no option'],
    ],
    but: "`onStoreDown: 'run-unprotected'` is not built.",
  },
  {
    item: 'Memory is bounded: cache, deliveries in flight, headers, IDs, results; the broker is held back',
    tests: [
      ['test/stores/lru-cache.test.ts', 'holds no more than max keys, the last ones'],
      ['test/stores/lru-cache.test.ts', 'leaves long results to the store'],
      [
        'test/unit/pipeline/lanes.test.ts',
        'pause the source while too much is in flight, and let it go on at half of that',
      ],
      ['test/unit/core/backpressure.test.ts', 'is full at its limit of %s, and until half of it is left'],
      ['test/unit/rabbitmq/options.test.ts', 'takes the largest prefetch there is for more handlers than that'],
      ['test/kafka/drop-in-batch.test.ts', 'has no more of a batch in flight than the consumer may'],
      ['test/rabbitmq/publisher.test.ts', 'caps its headers: 1 KB of detail, and of the sender the small ones first'],
      ['test/unit/pipeline/identify.test.ts', 'handles an ID of exactly 512 bytes'],
    ],
  },
  {
    item: 'Two packages are installed with this one, nothing runs at install, and the package holds nothing unknown',
    tests: [
      ['test/security/supply.test.ts', 'is this package and two others of fixed versions, with what they need'],
      ['test/security/supply.test.ts', 'runs nothing while it is installed'],
      ['test/security/supply.test.ts', 'imports no package: clients are handed to it'],
      ['lab/package/stranger.test.ts', 'is what was compiled from sources that git knows, documents, and nothing else'],
    ],
    but: 'Provenance is a matter of how a release is published.',
  },
]
