import type { ListedItem } from '../../lab/proof/listed-tests.ts'

/** What must not be possible, or must be, and the tests that show it. */
export const SECURITY: readonly ListedItem[] = [
  {
    item: 'A key is a digest of length-prefixed (scope, ID), 128 bits of SHA-256 and never fewer; nothing that answers by chance',
    tests: ['T88', 'T89', 'T90', 'T91', 'T92'],
    but: 'Two IDs that somebody found to share 128 bits are a conflict, dead-lettered, unless their payloads are equal too.',
  },
  {
    item: 'Dedup is not authentication; an ID can be bound to a secret by HMAC, and one that is not is no ID',
    tests: ['T93', 'T94'],
    but: 'The ID is signed, not the payload: who has read a signed ID can send it again.',
  },
  {
    item: 'Scripts and SQL take values as values only',
    tests: ['T95', 'T96'],
    but: 'Statements that a server takes several of at once have no parameters: their values are written in hexadecimal.',
  },
  {
    item: 'Identifiers match ^[a-z_][a-z0-9_]{0,62}$ and are quoted',
    tests: ['T97', 'T98', 'T99', 'T100'],
    but: 'A database of MariaDB or MySQL, which the user has named already, may have capitals and hyphens.',
  },
  {
    item: 'No pattern of a user is run on an ID: IDs are compared as bytes',
    tests: ['T101', 'T102'],
  },
  {
    item: 'Headers and payloads of strangers change no object but their own, and no option',
    tests: ['T103', 'T104', 'T105', 'T106', 'T107', 'T108', 'T292'],
  },
  {
    item: 'Payload and ID are never in logs, events, health, copies’ headers or records',
    tests: ['T109', 'T110', 'T111', 'T112', 'T113'],
    but: 'The command-line tool repeats the ID that it was asked for. An observer gets message and error as they are.',
  },
  {
    item: 'Passwords of addresses and of clients are never in errors, their causes, events, health, logs or what the tool prints',
    tests: ['T114', 'T115', 'T116', 'T117', 'T118', 'T119', 'T120', 'T121', 'T122', 'T123', 'T124'],
  },
  {
    item: 'Error messages of handlers are cut, and what they repeat of their message is taken out',
    tests: ['T125', 'T126', 'T127', 'T128', 'T129'],
    but: 'Plain words pass, also where they are a name.',
  },
  {
    item: 'Keys for providers are 43 characters of base64url, a digest, the same in every attempt',
    tests: ['T130', 'T90'],
    but: 'A digest is no secret: who knows scope and phone number can compute it.',
  },
  {
    item: 'Results are kept where asked for, capped, with the mark, and sealed where asked for',
    tests: ['T131', 'T132', 'T133', 'T134', 'T135', 'T136'],
  },
  {
    item: 'TLS options are the client’s, untouched',
    tests: ['T137', 'T138', 'T139'],
    but: 'Stores take a client or pool that is connected by the user: they open no connection.',
  },
  {
    item: 'Nothing listens but the health server and the dashboard, which a user starts; each decision of a person is confirmed, and written down',
    tests: ['T140', 'T141', 'T113'],
  },
  {
    item: 'A store that is down stops consumption, unless a person has chosen to run unprotected, which is counted and told each time',
    tests: ['T142', 'T143', 'T144', 'T245', 'T246'],
  },
  {
    item: 'Memory is bounded: cache, deliveries in flight, headers, IDs, results; the broker is held back',
    tests: ['T145', 'T146', 'T147', 'T148', 'T149', 'T150', 'T151', 'T152'],
  },
  {
    item: 'Three packages are installed with this one, nothing runs at install, and the package holds nothing unknown',
    tests: ['T153', 'T154', 'T155', 'T156'],
    but: 'Provenance is a matter of how a release is published.',
  },
]
