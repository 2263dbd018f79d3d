/**
 * Why a recorded test failed, by the name of its file and its own: the page says it beside the failure. A test fails for
 * each failure that has no word here, and for each word without a failure.
 */
export const KNOWN_FAILURES: Readonly<Record<string, string>> = {
  'checkup: checkup of postgresInbox finds a replica':
    'The fault of the test: it looked for the data of a server in another Debian in the wrong place. Mended since.',
  'checkup: checkup of postgresInbox finds a standby that is not waited for, one that is, and one that is missed':
    'The fault of the test: it started the standby from the programs of another Debian outside of it. Mended since.',
  'unflushed: mysqlInbox, of what is committed and not flushed yet is flushed before a mark whose reply was lost is told as written':
    'The fault of the test: a mark is six messages on MySQL, and it cut the first one instead of the COMMIT.',
}
